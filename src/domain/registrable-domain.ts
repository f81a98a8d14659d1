import { getDomain } from 'tldts';

/** Whether two hosts belong to one registrable domain by the Public Suffix List (apex ↔ www). IP literals only match themselves. */
export function sameRegistrableDomain(one: string, other: string): boolean {
  if (one === other) return true;
  const domain = getDomain(one, { allowPrivateDomains: true });
  return domain !== null && domain === getDomain(other, { allowPrivateDomains: true });
}

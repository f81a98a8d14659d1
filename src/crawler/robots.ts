import { BLOCKED_BY_ROBOTS } from '#domain/page.ts';

/** What a robots.txt says about one URL. */
export type RobotsVerdict = { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

/** A robots.txt as it concerns one crawler. */
export type Robots = {
  /** `target`: path and query of a URL as WHATWG serializes them. */
  readonly check: (target: string) => RobotsVerdict;
  /** Seconds between requests that the site asks for; 0 when it does not. */
  readonly crawlDelay: number;
};

type Rule = {
  readonly allow: boolean;
  readonly pattern: string;
  readonly parts: readonly string[];
  readonly anchored: boolean;
  readonly reason: string;
};
type Group = { readonly agents: string[]; readonly rules: Rule[]; crawlDelay: number; closed: boolean };

const ALLOWED: RobotsVerdict = { allowed: true };
export const ALLOW_ALL: Robots = { check: () => ALLOWED, crawlDelay: 0 };
/** For an origin whose robots.txt forbids everything by how it was answered, or by not being answered. */
export const disallowAll = (reason: string): Robots => ({ check: () => ({ allowed: false, reason }), crawlDelay: 0 });

/** The longest Crawl-delay that is heeded, in seconds. */
const MAX_CRAWL_DELAY = 30;
const MAX_RULE_SHOWN = 200;
/** Rules with a wildcard that are heeded: each is a search through the whole URL, and all are tried for each new URL. */
const MAX_WILDCARD_RULES = 1_000;
/** Characters of these rules together: a rule that nearly matches everywhere takes its length times that of the URL. */
const MAX_WILDCARD_LENGTH = 50_000;
const UNRESERVED = /[A-Za-z0-9\-._~]/;
const encodeOctets = (text: string): string =>
  Array.from(Buffer.from(text), (octet) => `%${octet.toString(16).toUpperCase().padStart(2, '0')}`).join('');

/**
 * One form for every way to write the same octets (RFC 9309 §2.2.2): escapes of unreserved characters undone, other escapes in
 * upper case, and characters that a path or a query can carry both plain and escaped always escaped. `special` are the characters
 * that a rule must escape to mean them literally (§2.2.3).
 */
function normalize(text: string, special: RegExp): string {
  const plain = (part: string, reserved: RegExp): string =>
    part.replace(/%[0-9a-fA-F]{2}|./gsu, (match) => {
      if (match.length > 1 && match.startsWith('%')) {
        const character = String.fromCharCode(Number.parseInt(match.slice(1), 16));
        return UNRESERVED.test(character) ? character : match.toUpperCase();
      }
      return special.test(match) || reserved.test(match) || match > '~' || match <= ' ' ? encodeOctets(match) : match;
    });
  const query = text.indexOf('?');
  if (query < 0) return plain(text, /[[\]]/);
  return `${plain(text.slice(0, query), /[[\]]/)}?${plain(text.slice(query + 1), /[:/?#[\]@]/)}`;
}

/** Most targets need nothing: only these characters have a second form. */
const NEEDS_WORK = /[%$*?[\]]|[^!-~]/;
const normalizeTarget = (target: string): string => (NEEDS_WORK.test(target) ? normalize(target, /[*$]/) : target);

function parseRule(allow: boolean, value: string, line: number): Rule {
  const anchored = value.endsWith('$');
  const pattern = normalize(anchored ? value.slice(0, -1) : value, /\$/);
  const shown = `${allow ? 'Allow' : 'Disallow'}: ${value}`.slice(0, MAX_RULE_SHOWN).toWellFormed();
  return {
    allow,
    pattern: anchored ? `${pattern}$` : pattern,
    parts: pattern.split('*'),
    anchored,
    reason: `${BLOCKED_BY_ROBOTS}line ${line}: ${shown}`,
  };
}

/** Whether the parts between the rule's wildcards come in this order: leftmost first, so that no step is ever taken back. */
function matches({ parts, anchored }: Rule, target: string): boolean {
  const [prefix = ''] = parts;
  if (!target.startsWith(prefix)) return false;
  const last = parts.length - 1;
  if (last === 0) return !anchored || target.length === prefix.length;
  let at = prefix.length;
  for (let index = 1; index < last; index++) {
    const part = parts[index] ?? '';
    const found = target.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  const end = parts[last] ?? '';
  return anchored ? target.length - end.length >= at && target.endsWith(end) : target.indexOf(end, at) >= 0;
}

function parseGroups(text: string): Group[] {
  const groups: Group[] = [];
  let group: Group | undefined;
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/);
  for (const [index, raw] of lines.entries()) {
    const [line = ''] = raw.split('#', 1);
    const colon = line.indexOf(':');
    if (colon < 0) continue;
    const name = line.slice(0, colon).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (name === 'user-agent') {
      // Only rules end a group's list of agents; Sitemap, Crawl-delay and unknown lines do not (§2.2.4).
      if (group === undefined || group.closed) {
        group = { agents: [], rules: [], crawlDelay: 0, closed: false };
        groups.push(group);
      }
      group.agents.push(/^\*(\s|$)/.test(value) ? '*' : (/^[A-Za-z_-]+/.exec(value)?.[0] ?? '').toLowerCase());
    } else if (group !== undefined && (name === 'allow' || name === 'disallow')) {
      group.closed = true;
      // An empty rule allows nothing and forbids nothing. A rule that does not start with a slash can only mean one that does.
      if (value !== '')
        group.rules.push(parseRule(name === 'allow', value.startsWith('/') || value.startsWith('*') ? value : `/${value}`, index + 1));
    } else if (group !== undefined && name === 'crawl-delay') {
      const seconds = Number(value);
      if (seconds > 0) group.crawlDelay = Math.max(group.crawlDelay, Math.min(MAX_CRAWL_DELAY, seconds));
    }
  }
  return groups;
}

/**
 * Reads a robots.txt (RFC 9309) for the crawler whose product token is `token`: all groups that name it, merged, else all groups of
 * `*`. The longest matching rule decides, Allow before Disallow among equals; `/robots.txt` itself is always allowed. Of rules with a
 * wildcard the first 1,000 are heeded, and 50,000 characters of them.
 */
export function parseRobots(text: string, token: string): Robots {
  const groups = parseGroups(text);
  const named = groups.filter(({ agents }) => agents.includes(token.toLowerCase()));
  const chosen = named.length > 0 ? named : groups.filter(({ agents }) => agents.includes('*'));
  let wildcards = 0;
  let wildcardLength = 0;
  const isHeeded = ({ parts, pattern }: Rule): boolean => {
    if (parts.length === 1) return true;
    if (wildcards >= MAX_WILDCARD_RULES || wildcardLength + pattern.length > MAX_WILDCARD_LENGTH) return false;
    wildcards++;
    wildcardLength += pattern.length;
    return true;
  };
  const rules = chosen
    .flatMap((group) => group.rules)
    .filter(isHeeded)
    .sort((one, other) => other.pattern.length - one.pattern.length || Number(other.allow) - Number(one.allow));
  const crawlDelay = Math.max(0, ...chosen.map((group) => group.crawlDelay));
  if (!rules.some(({ allow }) => !allow)) return { check: ALLOW_ALL.check, crawlDelay };
  return {
    crawlDelay,
    check(target) {
      if (target === '/robots.txt') return ALLOWED;
      const normalized = normalizeTarget(target);
      for (const rule of rules) if (matches(rule, normalized)) return rule.allow ? ALLOWED : { allowed: false, reason: rule.reason };
      return ALLOWED;
    },
  };
}

/** The product token of a User-Agent value: what stands before the version. */
export const productToken = (userAgent: string): string => /^[A-Za-z_-]+/.exec(userAgent)?.[0] ?? userAgent;

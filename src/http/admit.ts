import type { Caller } from '#domain/account.ts';
import { Refusal } from '#domain/errors.ts';
import { requestsExceeded } from '#service/limit-requests.ts';
import type { Service } from '#service/service.ts';
import type { Exchange } from './exchange.ts';
import { requestsHeaders } from './rest/rate-headers.ts';

/** The secret in the value of an Authorization header, RFC 6750 §2.1; the scheme in any case. Null when there is none. */
export const bearerOf = (authorization: string | undefined): string | null => /^bearer +(.+)$/i.exec(authorization ?? '')?.[1] ?? null;

/** The secret that a request shows. Throws `unauthorized` when it shows none. */
export function secretOf({ request }: Exchange): string {
  const secret = bearerOf(request.headers.authorization);
  if (secret === null) throw new Refusal('unauthorized', 'Send an API key: "Authorization: Bearer <key>".');
  return secret;
}

/** Finds out who calls, for the log too. Throws `unauthorized`. */
export async function identify(exchange: Exchange, service: Pick<Service, 'authenticate'>): Promise<Caller> {
  const caller = await service.authenticate(secretOf(exchange));
  exchange.organizationId = caller.organizationId;
  return caller;
}

/** Counts a request of the key, and tells in the headers of the answer what is left. Throws `rate_limited`. */
export async function countRequest(exchange: Exchange, caller: Caller, service: Pick<Service, 'limitRequests'>): Promise<void> {
  const allowance = await service.limitRequests(caller.keyId);
  if (allowance === null) return;
  Object.assign(exchange.headers, requestsHeaders(allowance));
  if (!allowance.admitted) throw requestsExceeded(allowance);
}

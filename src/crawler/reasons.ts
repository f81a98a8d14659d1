import { MAX_URL_LENGTH } from '#domain/page.ts';
import type { CrawlLimits } from './limits.ts';

/** Thrown where a connection would go to an address or port that the guard refuses. The message never names a resolved address. */
export class AddressNotAllowed extends Error {
  override readonly name = 'AddressNotAllowed';
}

/** The time for a phase of a request is over. */
export class TimeIsUp extends Error {
  override readonly name = 'TimeIsUp';
  readonly phase: 'headers' | 'page';
  constructor(phase: 'headers' | 'page') {
    super(`The time for the ${phase} is over.`);
    this.phase = phase;
  }
}

const seconds = (ms: number): string => (ms === 1000 ? '1 second' : `${ms / 1000} seconds`);

const OTHER_NAME = 'ERR_TLS_CERT_ALTNAME_INVALID';
const CONNECTING: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the name does not resolve',
  ENODATA: 'the name has no address',
  EAI_AGAIN: 'the name could not be resolved at the moment',
  EAI_NODATA: 'the name has no address',
  ECONNREFUSED: 'the connection was refused',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'its network is unreachable',
  EADDRNOTAVAIL: 'its address cannot be used',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  CERT_NOT_YET_VALID: 'the certificate is not valid yet',
  CERT_REVOKED: 'the certificate has been revoked',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate chain is self-signed',
  UNABLE_TO_GET_ISSUER_CERT: 'the issuer of the certificate is not known',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the issuer of the certificate is not known',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate cannot be verified, as when the server does not send the intermediate certificates',
  [OTHER_NAME]: 'the certificate is for another name',
  EPROTO: 'the TLS handshake failed',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'it offers only versions of TLS that are no longer safe',
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: 'it offers only versions of TLS that are no longer safe',
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: 'it does not speak HTTP/1.1',
  ERR_SSL_TLSV1_UNRECOGNIZED_NAME: 'it has no certificate for this name',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'it wants a client certificate',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS on this port',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not speak TLS on this port',
};

const ANSWERING: Readonly<Record<string, string>> = {
  ECONNRESET: 'closed the connection without an answer',
  EPIPE: 'closed the connection without an answer',
  UND_ERR_SOCKET: 'closed the connection without an answer',
};

/** What an attempt at one of several addresses ends with when it is not the one that counts: given up early for the next, or never begun. */
const SIDE_ATTEMPT = new Set(['ETIMEDOUT', 'ENETUNREACH', 'EADDRNOTAVAIL', 'EHOSTUNREACH']);

function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) {
    const codes = error.errors.map(codeOf);
    return codes.find((code) => !SIDE_ATTEMPT.has(code)) ?? codes.at(-1) ?? '';
  }
  if (error === null || typeof error !== 'object') return '';
  // undici tells of all attempts as of one that took too long, when one of them did.
  if (error instanceof Error && error.cause instanceof AggregateError) return codeOf(error.cause);
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Whether the other side did not take a connection, or ended it. */
export function isDropped(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ECONNREFUSED' || ANSWERING[code] !== undefined;
}

/** What a parser or OpenSSL says in its own words, none of the site's. */
const detailOf = (error: unknown): string =>
  error instanceof Error && 'reason' in error && typeof error.reason === 'string' && error.reason !== '' ? ` (${error.reason})` : '';

/** The first names that a certificate is for, when it is not for the one that was asked. Only names: others are addresses. */
function namesOf(error: unknown): string {
  const cert = error instanceof Error && 'cert' in error ? (error.cert as { readonly subjectaltname?: string } | undefined) : undefined;
  const names = [...(cert?.subjectaltname ?? '').slice(0, 10_000).matchAll(/(?:^|, )DNS:([\w.*-]{1,253})(?=,|$)/g)].map(([, name]) => name);
  return names.length === 0 ? '' : `: ${names.slice(0, 3).join(', ')}${names.length > 3 ? ` and ${names.length - 3} more` : ''}`;
}

/** Why there is no response from `host`, as one sentence. Names no address that a name resolved to. */
export function noResponseReason(error: unknown, host: string, limits: CrawlLimits): string {
  if (error instanceof AddressNotAllowed) return error.message;
  if (error instanceof TimeIsUp)
    return `${host} did not answer within ${seconds(error.phase === 'headers' ? limits.headersMs : limits.pageMs)}.`;
  const code = codeOf(error);
  const connecting = CONNECTING[code];
  if (connecting !== undefined) return `Could not connect to ${host}: ${connecting}${code === OTHER_NAME ? namesOf(error) : ''}.`;
  // A certificate that OpenSSL refuses for a reason which Node has no code for, such as a key that is too short.
  if (code === 'UNSPECIFIED' && error instanceof Error)
    return `Could not connect to ${host}: the certificate is refused (${error.message}).`;
  const answering = ANSWERING[code];
  if (answering !== undefined) return `${host} ${answering}.`;
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT')
    return `Could not connect to ${host}: there was no answer within ${seconds(limits.connectMs)}.`;
  if (code === 'UND_ERR_HEADERS_OVERFLOW' || code === 'HPE_HEADER_OVERFLOW')
    return `${host} answered with more than ${limits.headerBytes / 1024} KiB of headers.`;
  if (code.startsWith('HPE_')) return `${host} answered with something that is not HTTP${detailOf(error)}.`;
  if (code.startsWith('ERR_SSL_')) return `Could not connect to ${host}: the TLS handshake failed${detailOf(error)}.`;
  if (code.startsWith('ERR_TLS_')) return `Could not connect to ${host}: the TLS handshake failed.`;
  return `There was no response from ${host}${code === '' ? '' : ` (${code})`}.`;
}

const MAX_SHOWN = 200;

/** Why what `location` says, on `url`, is not the address of a page, as one sentence. Never shows a password. */
export function nowhereReason(url: URL, location: string): string {
  const target = URL.parse(location, url.href);
  const hasCredentials = target !== null && (target.username !== '' || target.password !== '');
  if (hasCredentials) return `${url.href} redirects to an address with a user name or password, which is not asked for.`;
  const shown = (target?.href ?? location).replace(/[^ -~]/g, '\ufffd');
  const cut = shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}…` : shown;
  const why =
    target === null
      ? 'which is no valid address'
      : target.protocol === 'http:' || target.protocol === 'https:'
        ? `an address of more than ${MAX_URL_LENGTH} characters`
        : 'which is no address of a web page';
  return `${url.href} redirects to ${cut}, ${why}.`;
}

/** The reason of a page that only links with rel=nofollow, or links of pages that ask so for all of theirs, lead to. */
export const NOFOLLOW_REASON = 'Every link to it is nofollow, by its rel or by the meta robots or X-Robots-Tag of its page.';

/** Whether a stored reason is the address guard's. */
export const isRefusal = (reason: string): boolean => /(?: is not allowed| public address)\.$/.test(reason);

import { isUtf8 } from 'node:buffer';
import type { EpochMs } from '#domain/ids.ts';
import { targetOf } from '#domain/url.ts';
import type { AddressGuard } from './address-guard.ts';
import { contentTypeOf } from './content-type.ts';
import { ACCEPT_ENCODING, type BodyDecoder, createBodyDecoder, isEncoded } from './decode-body.ts';
import { createDispatch } from './dispatch.ts';
import type { Exchange } from './dispatch-leniently.ts';
import type { CrawlLimits } from './limits.ts';
import { AddressNotAllowed, isDropped, noResponseReason, TimeIsUp } from './reasons.ts';

export type Response = {
  readonly kind: 'response';
  readonly status: number;
  /** Null when the response names no type. */
  readonly contentType: string | null;
  readonly location: string | null;
  /** It sets a cookie, of which none is kept. */
  readonly setsCookie: boolean;
  /** What `Retry-After` asks for, in milliseconds; null without one. */
  readonly retryAfterMs: number | null;
  /** The values of `X-Robots-Tag`, one for each time that it was sent. */
  readonly robotsTags: readonly string[];
  /** Null when nobody wanted it, and when it is empty and has no type. */
  readonly body: Buffer | null;
  /** Bytes of the body after decompression, as far as it was read. */
  readonly bytes: number;
  /** A wanted body was cut off, by the connection, by time or by its size. */
  readonly truncated: boolean;
  readonly sentAt: EpochMs;
  readonly durationMs: number;
};

export type NoResponse = {
  readonly kind: 'none';
  /** One sentence. */
  readonly reason: string;
  /** The guard refused; asking again is no use. */
  readonly refused: boolean;
  /** The other side turned a new connection down, or ended it: it may be more than it takes at a time. */
  readonly dropped: boolean;
  readonly sentAt: EpochMs;
  readonly durationMs: number;
};

/** How much of a body is wanted. */
export type Wanted = {
  /** Bytes, by what the headers say; 0: none. */
  readonly bytes: (status: number, contentType: string | null) => number;
  /** Looks at the first part of a body that has no content type, and says whether it is wanted after all. */
  readonly sniff: (start: Buffer) => boolean;
};

/** One GET, no redirect followed. Rejects with `signal.reason` when that is aborted; every other failure is an answer. */
export type FetchPage = (url: URL, wanted: Wanted, signal: AbortSignal) => Promise<Response | NoResponse>;

type Deps = { readonly guard: AddressGuard; readonly limits: CrawlLimits; readonly userAgent: string; readonly now: () => EpochMs };

type Headers = Readonly<Record<string, string | string[] | undefined>>;
const headerOf = (headers: Headers, name: string): string | null => {
  const value = headers[name];
  return value === undefined ? null : typeof value === 'string' ? value : (value[0] ?? null);
};

const everyHeaderOf = (headers: Headers, name: string): readonly string[] => {
  const value = headers[name] ?? [];
  return typeof value === 'string' ? [value] : value;
};

/** A Location as its sender means it: what is no ASCII is UTF-8 by every browser's reading, and the parser gives one character a byte. */
function locationOf(headers: Headers): string | null {
  const value = headerOf(headers, 'location');
  if (value === null) return null;
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : value;
}

/** RFC 9110 §10.2.3: seconds, or a date. */
function parseRetryAfter(value: string | null, now: EpochMs): number | null {
  if (value === null) return null;
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

/** Fetches over one keep-alive pool per origin; `close` ends every connection. */
export function createFetchPage({ guard, limits, userAgent, now }: Deps): { fetchPage: FetchPage; close: () => Promise<void> } {
  const { dispatch, close } = createDispatch(guard.connect, limits.headerBytes);
  const headers = [
    'user-agent',
    userAgent,
    'accept',
    'text/html,application/xhtml+xml;q=0.9,*/*;q=0.5',
    'accept-encoding',
    ACCEPT_ENCODING,
  ];

  const fetchPage: FetchPage = (url, wanted, signal) => {
    const began = performance.now();
    let sentAt = now();
    const none = (error: unknown, isSecond = false): NoResponse => ({
      kind: 'none',
      reason: noResponseReason(error, url.host, limits),
      refused: error instanceof AddressNotAllowed,
      dropped: isDropped(error) && !isSecond,
      sentAt,
      durationMs: Math.round(performance.now() - began),
    });
    const refusal = guard.refusal(url);
    if (refusal !== null) return Promise.resolve(none(new AddressNotAllowed(refusal)));

    return new Promise((resolve, reject) => {
      let controller: Parameters<Exchange['onRequestStart']>[0] | undefined;
      let head: Pick<Response, 'status' | 'contentType' | 'location' | 'setsCookie' | 'retryAfterMs' | 'robotsTags'> | undefined;
      let settled = false;
      let keep = 0;
      let bytes = 0;
      let rawBytes = 0;
      let truncated = false;
      let decoder: BodyDecoder | undefined;
      let headersTimer: NodeJS.Timeout | undefined;
      const chunks: Buffer[] = [];

      const settle = (outcome: () => void, stop?: Error): void => {
        if (settled) return;
        settled = true;
        clearTimeout(pageTimer);
        clearTimeout(headersTimer);
        signal.removeEventListener('abort', onAbort);
        decoder?.destroy();
        outcome();
        if (stop !== undefined) controller?.abort(stop);
      };
      const fail = (error: Error, stop = false): void => settle(() => resolve(none(error)), stop ? error : undefined);
      const finish = (stop?: Error): void => {
        const found = head;
        if (found === undefined) return;
        // Nothing of no type is no page, as 204 and 304 answer.
        const body = keep > 0 && (bytes > 0 || found.contentType !== null) ? Buffer.concat(chunks) : null;
        const durationMs = Math.round(performance.now() - began);
        settle(() => resolve({ kind: 'response', ...found, body, bytes, truncated, sentAt, durationMs }), stop);
      };
      const cut = (): void => {
        truncated = keep > 0;
        finish(new Error('cut'));
      };
      const pass = (chunk: Buffer): void => {
        bytes += chunk.length;
        if (bytes > limits.unwantedBytes) cut();
      };
      const take = (chunk: Buffer): void => {
        if (chunks.length === 0 && head?.contentType === null && !wanted.sniff(chunk)) keep = 0;
        if (keep === 0) {
          pass(chunk);
          return;
        }
        const room = keep - bytes;
        chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
        bytes += Math.min(chunk.length, room);
        if (chunk.length > room) cut();
      };
      const onAbort = (): void => settle(() => reject(signal.reason), new Error('stopped'));
      const timeUp = (phase: 'headers' | 'page'): void => (head === undefined ? fail(new TimeIsUp(phase), true) : cut());
      const pageTimer = setTimeout(timeUp, limits.pageMs, 'page');
      if (signal.aborted) return onAbort();
      signal.addEventListener('abort', onAbort, { once: true });

      dispatch(url, targetOf(url), headers, {
        onRequestStart(given) {
          controller = given;
          if (settled) return given.abort(new Error('too late'));
          sentAt = now();
          clearTimeout(headersTimer);
          headersTimer = setTimeout(timeUp, limits.headersMs, 'headers');
        },
        onResponseStart(_, status, fields) {
          if (settled || status < 200) return;
          clearTimeout(headersTimer);
          const contentType = contentTypeOf(everyHeaderOf(fields, 'content-type'));
          const retryAfterMs = parseRetryAfter(headerOf(fields, 'retry-after'), now());
          const robotsTags = everyHeaderOf(fields, 'x-robots-tag');
          const setsCookie = fields['set-cookie'] !== undefined;
          head = { status, contentType, location: locationOf(fields), setsCookie, retryAfterMs, robotsTags };
          keep = wanted.bytes(status, contentType);
          if (keep === 0) {
            if (Number(headerOf(fields, 'content-length') ?? 0) > limits.unwantedBytes) cut();
            return;
          }
          const encoding = headerOf(fields, 'content-encoding') ?? '';
          if (!isEncoded(encoding)) return;
          decoder = createBodyDecoder(encoding, keep, take, (whole) => {
            truncated ||= !whole;
            finish(whole ? undefined : new Error('broken encoding'));
          });
        },
        onResponseData(_, chunk) {
          if (settled) return;
          rawBytes += chunk.length;
          if (keep === 0) pass(chunk);
          else if (decoder === undefined) take(chunk);
          else if (rawBytes > keep) cut();
          else decoder.write(chunk);
        },
        onResponseEnd() {
          if (decoder === undefined) finish();
          else decoder.end();
        },
        onResponseError(_, error, isSecond) {
          if (head === undefined) return settle(() => resolve(none(error, isSecond)));
          truncated = keep > 0;
          if (decoder === undefined) finish();
          else decoder.end();
        },
      });
    });
  };

  return { fetchPage, close };
}

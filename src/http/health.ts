import { UNAVAILABLE_RETRY_MS } from '#domain/errors.ts';
import type { Reply } from './reply.ts';

/** Whether requests can be answered now; what it throws means no. */
export type IsReady = () => boolean | Promise<boolean>;

export const HEALTH_PATH = '/healthz';
export const READY_PATH = '/readyz';

const plain = (text: string, status: number, headers: Record<string, string> = {}): Reply => ({
  status,
  headers: { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store', ...headers },
  body: `${text}\n`,
});

/** 200 for as long as the process can answer at all. */
export const answerAlive = (): Reply => plain('ok', 200);

/** 200 or 503, with no detail: whoever asks needs no key. */
export function createAnswerReady(isReady: IsReady): () => Promise<Reply> {
  return async () => {
    let ready = false;
    try {
      ready = await isReady();
    } catch {
      // told as not ready
    }
    return ready ? plain('ready', 200) : plain('not ready', 503, { 'Retry-After': String(UNAVAILABLE_RETRY_MS / 1000) });
  };
}

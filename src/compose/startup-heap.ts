import { setTimeout as delay } from 'node:timers/promises';

/** It takes some 50 ms; the start does not wait much longer for it. */
const LONGEST_MS = 1_000;

/**
 * Gives back what loading and opening have left on the heap of this thread, a sixth of a process that has just started; V8 by itself
 * waits until the heap has grown. Stops the thread for some 50 ms: to be called once, before there is work. Never rejects: a Node that
 * has no inspector, or may not use it, keeps what it has.
 */
export async function releaseStartupHeap(): Promise<void> {
  const over = new AbortController();
  try {
    const { Session } = await import('node:inspector/promises');
    const session = new Session();
    session.connect();
    const released = session.post('HeapProfiler.collectGarbage').catch(() => {});
    await Promise.race([released, delay(LONGEST_MS, undefined, { signal: over.signal })]);
    session.disconnect();
  } catch {
  } finally {
    over.abort();
  }
}

import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { inTime } from './in-time.ts';
import type { MeasuredFamily, Meter, ThreadName } from './meter.ts';

/** The main thread's way to the metrics of the other threads of the process. */
export type ThreadMetrics = {
  /** A port for the next thread of that name, which gives it to `serveMetrics`; it replaces the one before. */
  connect(thread: ThreadName): MessagePort;
  /** What each connected thread holds; null for one that has ended, or does not answer within `ANSWER_MS`. Never rejects. */
  collect(): Promise<ReadonlyMap<ThreadName, Answer>>;
};

/** The longest that a scrape waits for a thread, in milliseconds. */
const ANSWER_MS = 1_000;

/** Null: there was none. */
type Answer = readonly MeasuredFamily[] | null;
type Link = { readonly port: MessagePort; answer: PromiseWithResolvers<Answer> | null; isClosed: boolean };

export function createThreadMetrics(): ThreadMetrics {
  const links = new Map<ThreadName, Link>();

  /** A thread that has not answered yet is not asked once more. */
  async function ask(link: Link): Promise<Answer> {
    if (link.isClosed) return null;
    if (link.answer === null) {
      link.answer = Promise.withResolvers();
      link.port.postMessage('collect');
    }
    return link.answer.promise;
  }

  return {
    connect(thread) {
      const { port1: port, port2 } = new MessageChannel();
      const link: Link = { port, answer: null, isClosed: false };
      function settle(families: Answer): void {
        link.answer?.resolve(families);
        link.answer = null;
      }
      port.on('message', settle);
      port.on('close', () => {
        link.isClosed = true;
        settle(null);
      });
      port.unref();
      links.get(thread)?.port.close();
      links.set(thread, link);
      return port2;
    },
    async collect() {
      return new Map(await Promise.all([...links].map(async ([thread, link]) => [thread, await inTime(ask(link), ANSWER_MS)] as const)));
    },
  };
}

/** Lets the main thread read what this one holds. `port` does not keep the thread alive. */
export function serveMetrics(port: MessagePort, meter: Pick<Meter, 'collect'>): void {
  port.on('message', () => void meter.collect().then((families) => port.postMessage(families)));
  port.unref();
}

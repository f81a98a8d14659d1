import type { CrawlId } from '#domain/ids.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { HttpObserver } from '../../observe.ts';
import type { Channel, Frame } from './channel.ts';
import { bytesOf } from './frame.ts';
import type { Peer } from './peer.ts';

/** What graphql-ws holds of an operation: it never sees the values, which go to the socket by themselves. */
export type Operation = AsyncIterableIterator<never, undefined>;

type Deps = {
  readonly peer: Peer;
  /** The operation's id, as the client chose it. */
  readonly id: string;
  readonly channel: Channel;
  /** Throws when the client may not have what the channel gives any more; asked when it joins an execution that runs. */
  readonly confirm: () => Promise<void>;
  /** Reads the stored snapshot, for whoever joins an execution that runs. */
  readonly readCrawl: (id: CrawlId) => Promise<Snapshot>;
  /** This one started the channel's execution. */
  readonly isFirst: boolean;
  readonly observer: Pick<HttpObserver, 'opened' | 'closed' | 'updates'>;
};

/** More crawls than this waiting for one slow client, and it is told to subscribe again. */
const MOST_WAITING = 10_000;

const DONE: IteratorReturnResult<undefined> = { value: undefined, done: true };

/**
 * Puts a channel's frames on a socket. Latest wins: while a frame is not with the system none is queued behind it, and of each crawl at
 * most one, the latest, waits. The first `next` settles when the operation ends.
 */
export function createSubscriber({ peer, id, channel, confirm, readCrawl, isFirst, observer }: Deps): Operation {
  const { updates: counts } = observer;
  const head = bytesOf(`{"id":${JSON.stringify(id)},"type":"next","payload":`);
  /** Versions below this are older than what the client may have seen. */
  let least = isFirst ? 0 : Number.POSITIVE_INFINITY;
  let sent = 0;
  /** Nothing is sent before it is confirmed; what comes meanwhile waits. */
  let isBusy = !isFirst;
  let isOver = false;
  let waiting: Map<CrawlId | null, Frame> | null = null;
  let ended: { readonly error: unknown } | null = null;
  const over = Promise.withResolvers<IteratorReturnResult<undefined>>();
  observer.opened('subscription');
  const leave = channel.join({ onFrame, onEnd });

  function onFrame(frame: Frame): void {
    if (channel.crawlId() !== null && (frame.version < least || frame.version <= sent)) return;
    if (isBusy) wait(frame);
    else send(frame);
  }

  function wait(frame: Frame): void {
    waiting ??= new Map();
    if (waiting.has(frame.crawlId)) counts.skipped++;
    waiting.set(frame.crawlId, frame);
    if (waiting.size > MOST_WAITING) peer.socket.terminate();
  }

  function send({ version, bytes }: Frame): void {
    sent = version;
    counts.subscription++;
    isBusy = !peer.send(head + bytes, flushed);
  }

  function flushed(): void {
    isBusy = false;
    if (isOver) return;
    for (const frame of waiting?.values() ?? []) {
      waiting?.delete(frame.crawlId);
      send(frame);
      if (isBusy) return;
    }
    waiting = null;
    if (ended !== null) finish(ended.error);
  }

  function onEnd(error: unknown): void {
    ended = { error };
    if (!isBusy && least !== Number.POSITIVE_INFINITY) finish(error);
  }

  function finish(error: unknown): void {
    if (!isOver) observer.closed('subscription');
    isOver = true;
    leave();
    if (error === null) over.resolve(DONE);
    else over.reject(error);
  }

  /** The stored snapshot first: a channel that runs may be behind it, and then is told. */
  async function start(): Promise<void> {
    try {
      if (!isFirst) await confirm();
      await channel.ready;
      const crawlId = channel.crawlId();
      if (isFirst || crawlId === null) {
        least = 0;
      } else {
        const stored = await readCrawl(crawlId);
        least = stored.version;
        channel.offer(stored);
      }
      const frame = channel.latest();
      if (isOver) return;
      if (frame !== null) onFrame(frame);
      if (!isFirst) flushed();
      else if (ended !== null && !isBusy) finish(ended.error);
    } catch (error) {
      finish(error);
    }
  }

  over.promise.catch(() => {}); // when nobody asks any more
  void start();
  const operation: Operation = {
    next: () => over.promise,
    async return() {
      finish(null);
      return DONE;
    },
    [Symbol.asyncIterator]: () => operation,
  };
  return operation;
}

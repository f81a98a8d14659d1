import type { ExecutionResult } from 'graphql';
import type { CrawlId } from '#domain/ids.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { Service } from '#service/service.ts';
import { bytesOf } from './frame.ts';
import { type SharedSource, shareCrawl, shareOrganization } from './fresh-watch.ts';

/** One answer of a shared execution: the end of a message, behind the operation's id, as `bytesOf` makes it. */
export type Frame = { readonly crawlId: CrawlId | null; readonly version: number; readonly bytes: string };

/** Whoever gets the frames of a channel. */
export type Listener = {
  onFrame(frame: Frame): void;
  /** No frame follows; null after the end of what was watched. */
  onEnd(error: unknown): void;
};

/** One running subscription of one key of sharing: executed once and serialized once for all its listeners. */
export type Channel = {
  /** Resolves when frames may come. Rejects when it could not start; the channel is gone then. */
  readonly ready: Promise<void>;
  /** Null for an organization, and before the start. */
  readonly crawlId: () => CrawlId | null;
  /** The newest frame of the crawl that is watched, if there was one. */
  readonly latest: () => Frame | null;
  readonly offer: (snapshot: Snapshot) => void;
  /** Answers how to leave. With the last listener the execution ends. */
  join(listener: Listener): () => void;
};

/** The part of a service through which the execution finds its source. */
export type WatchService = Pick<Service, 'watchCrawl' | 'watchOrganization'>;

/** Executes the subscription with `watching` in place of the service's own methods. Throws, or rejects, when it cannot start. */
export type Execute = (watching: WatchService) => Promise<AsyncIterable<ExecutionResult>>;

/** Answers the result as the client may see it. */
type Present = (result: ExecutionResult) => ExecutionResult;

type Deps = { readonly service: WatchService; readonly execute: Execute; readonly present: Present; readonly onEmpty: () => void };

export function createChannel({ service, execute, present, onEmpty }: Deps): Channel {
  const listeners = new Set<Listener>();
  let source: SharedSource | null = null;
  let latest: Frame | null = null;
  let ended: { readonly error: unknown } | null = null;

  const watching: WatchService = {
    async watchCrawl(id, caller) {
      source = shareCrawl(id.toLowerCase() as CrawlId, await service.watchCrawl(id, caller));
      return source.watch;
    },
    async watchOrganization(caller) {
      source = shareOrganization(await service.watchOrganization(caller));
      return source.watch;
    },
  };

  async function start(): Promise<void> {
    try {
      const results = await execute(watching);
      void pump(results); // never rejects
      if (listeners.size === 0) leave();
    } catch (error) {
      end(error);
      throw error;
    }
  }

  async function pump(results: AsyncIterable<ExecutionResult>): Promise<void> {
    try {
      for await (const result of results) {
        const about = source?.given();
        const frame = {
          crawlId: about?.id ?? null,
          version: about?.version ?? 0,
          bytes: bytesOf(`${JSON.stringify(present(result))}}`),
        };
        if (source?.crawlId != null) latest = frame;
        for (const listener of listeners) listener.onFrame(frame);
      }
      end(null);
    } catch (error) {
      end(error);
    }
  }

  function end(error: unknown): void {
    ended = { error };
    onEmpty(); // who comes now needs a new one
    for (const listener of listeners) listener.onEnd(error);
  }

  function leave(): void {
    onEmpty();
    void source?.watch.return(); // never rejects
  }

  const ready = start();
  ready.catch(() => {}); // told to the listeners, too
  return {
    ready,
    crawlId: () => source?.crawlId ?? null,
    latest: () => latest,
    offer: (snapshot) => source?.offer(snapshot),
    join(listener) {
      listeners.add(listener);
      if (ended !== null) listener.onEnd(ended.error);
      return () => {
        if (listeners.delete(listener) && listeners.size === 0 && ended === null) leave();
      };
    },
  };
}

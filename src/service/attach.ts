import type { Bus, Topic } from '#bus/bus.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { Timers } from '#domain/timers.ts';
import type { SparseWarn } from './sparse-warn.ts';

/** A subscription that is wanted until `end`. */
export type Attachment = {
  /** Resolves when it stands, or cannot be had at the moment: whoever re-reads the store need not wait for a bus that is away. */
  readonly ready: Promise<void>;
  /** Subscribes again if the last attempt has failed. */
  retry(): void;
  end(): void;
};

export type AttachDeps = { readonly bus: Pick<Bus, 'subscribe'>; readonly timers: Timers; readonly warn: SparseWarn };

/** A bus that does not answer holds up a watcher for this long, in milliseconds. */
const MOST_WAIT_MS = 1_000;

/** Attaches `listener` to `topic`; it is not called after `end`. */
export function attach({ bus, timers, warn }: AttachDeps, topic: Topic, listener: (snapshot: Snapshot) => void): Attachment {
  const ready = Promise.withResolvers<void>();
  const stopWaiting = timers.after(MOST_WAIT_MS, ready.resolve);
  let state: 'attaching' | 'failed' | 'ended' | { readonly detach: () => void } = 'attaching';
  const isEnded = (): boolean => state === 'ended';

  async function subscribe(): Promise<void> {
    state = 'attaching';
    try {
      const detach = await bus.subscribe(topic, (snapshot) => {
        if (!isEnded()) listener(snapshot);
      });
      if (isEnded()) detach();
      else state = { detach };
    } catch (error) {
      if (!isEnded()) state = 'failed';
      warn(error, 'no listening for updates: they are re-read');
    }
    stopWaiting();
    ready.resolve();
  }

  void subscribe(); // never rejects
  return {
    ready: ready.promise,
    retry() {
      if (state === 'failed') void subscribe();
    },
    end() {
      const last = state;
      state = 'ended';
      stopWaiting();
      ready.resolve();
      if (typeof last === 'object') last.detach();
    },
  };
}

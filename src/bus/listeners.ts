import type { Snapshot } from '#domain/snapshot.ts';
import type { Log } from '#telemetry.ts';

type Listener = (snapshot: Snapshot) => void;

/** Who listens to what, in this thread. A listener that throws is logged and keeps nobody from being called. */
export type Listeners = {
  /** Adds a subscription, also of a listener that has one; answers how to end it. */
  add(topic: string, listener: Listener): () => void;
  has(topic: string): boolean;
  /** Each topic that somebody listens to. */
  topics(): string[];
  tell(topic: string, snapshot: Snapshot): void;
  addGap(listener: () => void): () => void;
  tellGap(): void;
  clear(): void;
};

type Deps = {
  readonly log: Log;
  /** Called when nobody listens to the topic any more; not by `clear`. */
  readonly onUnheard?: (topic: string) => void;
};

export function createListeners({ log, onUnheard = () => {} }: Deps): Listeners {
  const topics = new Map<string, Set<Listener>>();
  const gapListeners = new Set<() => void>();

  function call(act: () => void): void {
    try {
      act();
    } catch (error) {
      log.error({ err: error }, 'a listener of the bus failed');
    }
  }

  return {
    add(topic, listener) {
      // one entry a subscription, also when a listener is given twice
      const entry: Listener = (snapshot) => listener(snapshot);
      const listeners = topics.get(topic) ?? new Set();
      topics.set(topic, listeners.add(entry));
      return () => {
        listeners.delete(entry);
        if (listeners.size > 0 || topics.get(topic) !== listeners) return;
        topics.delete(topic);
        onUnheard(topic);
      };
    },
    has: (topic) => topics.has(topic),
    topics: () => [...topics.keys()],
    tell(topic, snapshot) {
      const listeners = topics.get(topic) ?? new Set();
      // one that another listener has just unsubscribed is not called any more
      for (const listener of [...listeners]) if (listeners.has(listener)) call(() => listener(snapshot));
    },
    addGap(listener) {
      const entry = () => listener();
      gapListeners.add(entry);
      return () => void gapListeners.delete(entry);
    },
    tellGap() {
      for (const listener of [...gapListeners]) call(listener);
    },
    clear() {
      for (const listeners of topics.values()) listeners.clear();
      topics.clear();
      gapListeners.clear();
    },
  };
}

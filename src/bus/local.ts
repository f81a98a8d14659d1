import type { MessagePort } from 'node:worker_threads';
import { isFinal, type Snapshot } from '#domain/snapshot.ts';
import type { Log } from '#telemetry.ts';
import type { Bus, Topic } from './bus.ts';

/** The bus of one process: its threads each have one, joined by ports. */
export type LocalBus = Bus & {
  /**
   * Joins the bus at the other end of `port`: what is published here is told there, and the reverse, but nothing is passed on
   * from one port to another. Answers how to part. Each port after the first is a gap: it replaces one that was lost.
   */
  attach(port: MessagePort): () => void;
};

type Listener = (snapshot: Snapshot) => void;

const nameOf = (topic: Topic): string => (topic.kind === 'queued' ? 'queued' : `${topic.kind}:${topic.id}`);

function topicsOf(snapshot: Snapshot): Topic[] {
  const topics: Topic[] = [
    { kind: 'crawl', id: snapshot.id },
    { kind: 'organization', id: snapshot.organizationId },
  ];
  if (snapshot.phase === 'queued' && !isFinal(snapshot)) topics.push({ kind: 'queued' });
  return topics;
}

export function createLocalBus({ log }: { readonly log: Log }): LocalBus {
  const topics = new Map<string, Set<Listener>>();
  const gapListeners = new Set<() => void>();
  const ports = new Set<MessagePort>();
  let joinedBefore = false;
  let closed = false;

  function call(act: () => void): void {
    try {
      act();
    } catch (error) {
      log.error({ err: error }, 'a listener of the bus failed');
    }
  }

  function tell(snapshot: Snapshot): void {
    for (const topic of topicsOf(snapshot)) {
      const listeners = topics.get(nameOf(topic)) ?? new Set();
      // one that another listener has just unsubscribed is not called any more
      for (const listener of [...listeners]) if (listeners.has(listener)) call(() => listener(snapshot));
    }
  }

  return {
    async publish(snapshot) {
      if (closed) return;
      tell(snapshot);
      for (const port of ports) call(() => port.postMessage(snapshot));
    },
    async subscribe(topic, listener) {
      const name = nameOf(topic);
      // one entry a subscription, also when a listener is given twice
      const entry: Listener = (snapshot) => listener(snapshot);
      const listeners = topics.get(name) ?? new Set();
      topics.set(name, listeners.add(entry));
      return () => {
        listeners.delete(entry);
        if (listeners.size === 0 && topics.get(name) === listeners) topics.delete(name);
      };
    },
    onGap(listener) {
      const entry = () => listener();
      gapListeners.add(entry);
      return () => gapListeners.delete(entry);
    },
    attach(port) {
      if (closed) port.close();
      const onMessage = (snapshot: Snapshot) => {
        if (!closed) tell(snapshot);
      };
      const part = () => {
        if (!ports.delete(port)) return;
        port.off('message', onMessage);
        port.close();
      };
      ports.add(port);
      port.on('message', onMessage);
      port.once('close', part);
      if (joinedBefore) for (const listener of [...gapListeners]) call(listener);
      joinedBefore = true;
      return part;
    },
    async close() {
      closed = true;
      for (const listeners of topics.values()) listeners.clear();
      topics.clear();
      gapListeners.clear();
      for (const port of [...ports]) port.close();
      ports.clear();
    },
  };
}

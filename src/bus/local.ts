import type { MessagePort } from 'node:worker_threads';
import type { Snapshot } from '#domain/snapshot.ts';
import type { Log } from '#telemetry.ts';
import type { Bus } from './bus.ts';
import { createListeners } from './listeners.ts';
import { nameOf, topicsOf } from './topics.ts';

/** The bus of one process: its threads each have one, joined by ports. */
export type LocalBus = Bus & {
  /**
   * Joins the bus at the other end of `port`: what is published here is told there, and the reverse, but nothing is passed on
   * from one port to another. Answers how to part. Each port after the first is a gap: it replaces one that was lost.
   */
  attach(port: MessagePort): () => void;
};

export function createLocalBus({ log }: { readonly log: Log }): LocalBus {
  const listeners = createListeners({ log });
  const ports = new Set<MessagePort>();
  let joinedBefore = false;
  let closed = false;

  function tell(snapshot: Snapshot): void {
    for (const topic of topicsOf(snapshot)) listeners.tell(topic, snapshot);
  }

  function post(port: MessagePort, snapshot: Snapshot): void {
    try {
      port.postMessage(snapshot);
    } catch (error) {
      log.error({ err: error }, 'a snapshot could not be given to another thread');
    }
  }

  return {
    async publish(snapshot) {
      if (closed) return;
      tell(snapshot);
      for (const port of ports) post(port, snapshot);
    },
    subscribe: async (topic, listener) => listeners.add(nameOf(topic), listener),
    onGap: listeners.addGap,
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
      if (joinedBefore) listeners.tellGap();
      joinedBefore = true;
      return part;
    },
    async close() {
      closed = true;
      listeners.clear();
      for (const port of [...ports]) port.close();
      ports.clear();
    },
  };
}

import type { Snapshot } from '#domain/snapshot.ts';

/** Between two published snapshots of a crawl, in milliseconds. */
const PACE_MS = 200;

/** Publishes the first snapshot at once, and then the latest at most each 200 ms. `flush`: what waits, now; call it at the end. */
export function createPacedPublish(publish: (snapshot: Snapshot) => void): { publish: (snapshot: Snapshot) => void; flush: () => void } {
  let latest: Snapshot | null = null;
  let timer: NodeJS.Timeout | undefined;
  const tick = (): void => {
    timer = undefined;
    if (latest === null) return;
    publish(latest);
    latest = null;
    timer = setTimeout(tick, PACE_MS);
  };
  return {
    publish(snapshot) {
      latest = snapshot;
      if (timer === undefined) tick();
    },
    flush() {
      clearTimeout(timer);
      if (latest !== null) publish(latest);
      latest = null;
    },
  };
}

/** What the parts of the fan-out bench say to each other. */
export type ServerReady = { readonly port: number; readonly key: string; readonly crawlId: string };
export type ServerOrder = { readonly publish: number; readonly everyMs: number } | 'idle';
/** Processor time of the process since the order before, and its memory. */
export type ServerReport = { readonly cpuMicroseconds: number; readonly residentBytes: number };

export type WatchersOrder = 'report';
export type WatchersReport = {
  /** The 99th percentile of each update's delivery times, in milliseconds. */
  readonly p99s: readonly number[];
  readonly deliveries: number;
  /** Updates that came after a newer one, and sockets that closed: wrong work. */
  readonly wrong: number;
};

/** Comparable between the processes of one host. */
export const clockMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Publishes as ordered, then tells what it took. */
export function serve(ready: ServerReady, publish: () => void): void {
  let cpu = process.cpuUsage();
  process.on('message', async (order: ServerOrder) => {
    if (order !== 'idle') {
      cpu = process.cpuUsage();
      for (let count = 0; count < order.publish; count++) {
        publish();
        await new Promise((resolve) => setTimeout(resolve, order.everyMs));
      }
    }
    const { user, system } = process.cpuUsage(cpu);
    process.send?.({ cpuMicroseconds: user + system, residentBytes: process.memoryUsage().rss } satisfies ServerReport);
  });
  process.once('disconnect', () => process.exit());
  process.send?.(ready);
}

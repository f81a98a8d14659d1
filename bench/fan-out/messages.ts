/** What the parts of the fan-out bench say to each other. The bare server answers its port, and sends an update at each message. */
export type WatchersOrder = 'report';
export type WatchersReport = {
  /** The 99th percentile of each update's delivery times, in milliseconds. */
  readonly p99s: readonly number[];
  readonly deliveries: number;
  /** Updates that came after a newer one, and sockets that closed: wrong work. */
  readonly wrong: number;
  /** The text of the update that came last, with its ids and numbers taken out. */
  readonly form: string;
};

/** Comparable between the processes of one host. */
export const clockMs = (): number => Number(process.hrtime.bigint()) / 1e6;

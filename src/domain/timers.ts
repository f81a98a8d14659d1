/** The time and the alarms that a part lives by. */
export type Timers = {
  /** Monotonic, milliseconds. */
  now(): number;
  /** Calls `callback` once, `ms` from now; answers how to stop that. */
  after(ms: number, callback: () => void): () => void;
};

import { Refusal } from '#domain/errors.ts';
import type { Store } from '#store/store.ts';
import type { Meter } from './meter.ts';
import type { Timing } from './timing.ts';

/** Told of what a method has answered and what it was called with; returns at once. */
export type AfterCalls = { readonly [M in keyof Store]?: (answer: Awaited<ReturnType<Store[M]>>, ...args: Parameters<Store[M]>) => void };

type Call<M extends keyof Store> = (...args: Parameters<Store[M]>) => Promise<Awaited<ReturnType<Store[M]>>>;
type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

const secondsSince = (startedAt: number): number => (performance.now() - startedAt) / 1_000;

/** The store, every call of it but `close` timed by method and outcome. A call costs a promise and an addition. */
export function measureStore(store: Store, meter: Meter, after: AfterCalls = {}): Store {
  const durations = meter.timing('crawlgate_store_operation_duration_seconds');
  const measured: Writable<Store> = { ...store };

  function measure<M extends keyof Store>(method: M): void {
    const call = store[method] as Call<M>;
    const tell = after[method] as ((answer: Awaited<ReturnType<Store[M]>>, ...args: Parameters<Store[M]>) => void) | undefined;
    let fine: Timing | null = null; // made at the first answer: not every process calls every method
    const timed: Call<M> = (...args) => {
      const startedAt = performance.now();
      return call(...args).then(
        (answer) => {
          if (answer === 'lost') durations.series(method, 'lost').observe(secondsSince(startedAt));
          else {
            fine ??= durations.series(method, 'ok');
            fine.observe(secondsSince(startedAt));
          }
          tell?.(answer, ...args);
          return answer;
        },
        (error: unknown) => {
          const isAway = error instanceof Refusal && error.code === 'unavailable';
          durations.series(method, isAway ? 'unavailable' : 'error').observe(secondsSince(startedAt));
          throw error;
        },
      );
    };
    measured[method] = timed as Store[M];
  }

  for (const method of Object.keys(store) as (keyof Store)[]) if (method !== 'close') measure(method);
  return measured;
}

import { unavailable } from '#domain/errors.ts';
import type { Store } from '../store.ts';
import { told } from './retry.ts';

export type AssembleOptions = {
  readonly operations: Omit<Store, 'close'>;
  /** Called once, when nothing is under way any more; when it resolves nothing is open. */
  readonly shut: () => Promise<void>;
};

/** The port: errors as it tells them, and an end that waits for what is under way. */
export function assembleStore({ operations, shut }: AssembleOptions): Store {
  let closing: Promise<void> | null = null;
  let underWay = 0;
  let whenIdle: () => void = () => {};

  const guarded =
    (call: (...args: never[]) => Promise<unknown>) =>
    async (...args: unknown[]): Promise<unknown> => {
      if (closing !== null) throw unavailable('The store is closed.');
      underWay++;
      try {
        return await Reflect.apply(call, undefined, args);
      } catch (error) {
        throw told(error);
      } finally {
        underWay--;
        if (underWay === 0) whenIdle();
      }
    };

  async function end(): Promise<void> {
    if (underWay > 0) await new Promise<void>((resolve) => (whenIdle = resolve));
    await shut();
  }

  const methods = Object.fromEntries(Object.entries(operations).map(([name, call]) => [name, guarded(call)])) as typeof operations;
  return {
    ...methods,
    close() {
      closing ??= end();
      return closing;
    },
  };
}

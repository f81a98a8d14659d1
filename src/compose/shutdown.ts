import type { Log } from '#telemetry.ts';

/** May take the signal to know when nobody waits for it any more. */
export type StopStep = (over: AbortSignal) => Promise<void> | void;

/** Ends what was started, the latest first: the steps run in the reverse of the order in which they were added; all of them, whatever becomes of one. */
export type Shutdown = {
  /** Adds a step that is waited for at most `limitMs`. */
  add(name: string, limitMs: number, step: StopStep): void;
  /** Memoised. Resolves also when steps failed or took too long, which is logged. */
  run(): Promise<void>;
};

/** While `cut` is aborted nothing is waited for: what is left of the steps is only begun. */
export function createShutdown(log: Log, cut: AbortSignal): Shutdown {
  const steps: { readonly name: string; readonly limitMs: number; readonly step: StopStep }[] = [];
  let running: Promise<void> | null = null;

  async function runStep(limitMs: number, step: StopStep): Promise<void> {
    const over = new AbortController();
    const givenUp = Promise.withResolvers<void>();
    const giveUp = (problem: string): void => {
      over.abort();
      givenUp.reject(new Error(problem));
    };
    const cutShort = (): void => giveUp('cut short by a second signal');
    const timer = setTimeout(() => giveUp(`not done within ${limitMs} ms`), limitMs);
    cut.addEventListener('abort', cutShort);
    try {
      const work = (async () => step(over.signal))();
      if (cut.aborted) cutShort();
      await Promise.race([work, givenUp.promise]);
    } finally {
      clearTimeout(timer);
      cut.removeEventListener('abort', cutShort);
    }
  }

  async function runAll(): Promise<void> {
    for (const { name, limitMs, step } of steps.toReversed()) {
      await runStep(limitMs, step).catch((error: unknown) => log.error({ step: name, err: error }, 'a step of the stop failed'));
    }
  }

  return {
    add: (name, limitMs, step) => void steps.push({ name, limitMs, step }),
    run: () => (running ??= runAll()),
  };
}

import { setFlagsFromString } from 'node:v8';

/**
 * Lets threads that start from now on have a young generation of their own size. The process is started with a small one
 * (`--max-semi-space-size`), which the many small objects of the main thread fit in and which spares it some 60 MiB with thousands of
 * watchers; but the flag also beats what each thread is given by `resourceLimits`, and parsing pages collects more often with it.
 * The size of this thread is settled already and stays.
 */
export const freeYoungGenerations = (): void => setFlagsFromString('--max-semi-space-size=0');

/** Of the threads, in `maxYoungGenerationSizeMb`: three times the size of a semi-space. */
export const CRAWLER_YOUNG_MB = 48;

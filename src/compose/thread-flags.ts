import { setFlagsFromString } from 'node:v8';
import { setThreadPool } from '#config/config.ts';

/**
 * Sets what V8 and libuv have to know before the first thread starts.
 *
 * Threads get a young generation of their own size. The process is started with a small one (`--max-semi-space-size`), which the many
 * small objects of the main thread fit in and which spares it some 60 MiB with thousands of watchers; but the flag also beats what each
 * thread is given by `resourceLimits`, and parsing pages collects more often with it. The size of this thread is settled already.
 *
 * Wrappers of WebAssembly stay as they are first made. Node strips types by WebAssembly, in each thread that loads a module; where V8
 * replaces the wrappers of one thread while another one ends, it can bring the whole process down (see docs/decisions.md).
 *
 * Names are looked up by the threads of libuv, of which half may be at it; one whose name server does not answer takes some 20 s. There
 * are more than the crawls of a worker can hold up.
 */
export function setThreadFlags({ workerCrawls }: { readonly workerCrawls: number }): void {
  setThreadPool(2 * (workerCrawls + 4));
  setFlagsFromString('--max-semi-space-size=0');
  setFlagsFromString('--wasm-wrapper-tiering-budget=1000000000');
}

/** Of the threads, in `maxYoungGenerationSizeMb`: three times the size of a semi-space. */
export const CRAWLER_YOUNG_MB = 48;

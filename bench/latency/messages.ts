import type { MessagePort } from 'node:worker_threads';

/** What the parts of the latency bench say to each other; all times are those of `clockMs`. */
export type LatencyServerReady = { readonly port: number; readonly key: string; readonly crawlId: string };

export type CrawlThreadData = { readonly path: string; readonly storePort: MessagePort; readonly busPort: MessagePort };

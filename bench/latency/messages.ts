import type { MessagePort } from 'node:worker_threads';

/** What the parts of the latency bench say to each other; all times are those of `clockMs`. */
export type LatencyServerReady = { readonly port: number; readonly key: string; readonly crawlId: string };

/** A batch of pages that was stored, or a snapshot that was published. */
export type Moment = { readonly version: number; readonly at: number };
export type CrawlReport = { readonly stored: readonly Moment[]; readonly published: readonly Moment[]; readonly finalVersion: number };

export type CrawlThreadData = { readonly path: string; readonly storePort: MessagePort; readonly busPort: MessagePort };

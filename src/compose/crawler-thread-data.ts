import type { MessagePort } from 'node:worker_threads';
import type { Config } from '#config/config.ts';
import type { ThreadLink } from './backend.ts';

/** What the crawler thread is started with. */
export type CrawlerThreadData = {
  readonly config: Config;
  readonly userAgent: string;
  readonly link: ThreadLink;
  /** From `ThreadMetrics.connect`. */
  readonly metricsPort: MessagePort;
  /** The longest that running crawls are waited for at the stop, in milliseconds. */
  readonly stopMs: number;
};

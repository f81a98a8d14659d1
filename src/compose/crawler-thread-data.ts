import type { Config } from '../config.ts';
import type { ThreadLink } from './backend.ts';

/** What the crawler thread is started with. */
export type CrawlerThreadData = {
  readonly config: Config;
  readonly userAgent: string;
  readonly link: ThreadLink;
  /** The longest that running crawls are waited for at the stop, in milliseconds. */
  readonly stopMs: number;
};

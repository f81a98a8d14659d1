import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Bus } from '#bus/bus.ts';
import { createCoalescedPublisher } from '#bus/coalesce.ts';
import type { LeaseToken } from '#domain/ids.ts';
import type { PageResult } from '#domain/page.ts';
import { monthOf } from '#domain/quota.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { Store } from '#store/store.ts';
import { systemTimers } from '#worker/timers.ts';
import { clockMs } from '../fan-out/messages.ts';

/** A batch of pages that was stored, or a snapshot that was published; in the time of `clockMs`. */
export type Moment = { readonly version: number; readonly at: number };
export type CrawlReport = { readonly stored: readonly Moment[]; readonly published: readonly Moment[]; readonly finalVersion: number };

const PAGES = 5;
/** Between batches, in milliseconds: in a busy time, and once in a while a rest that is longer than the coalescing window. */
const [LEAST_MS, MOST_MS, REST_MS] = [10, 70, 450];
const REST_EVERY = 40;

const pageOf = (seq: number): PageResult => ({
  ...{ seq, status: 'fetched', httpStatus: 200, contentType: 'text/html', reason: null, redirectUrl: null },
  ...{ fetchedAt: Date.now(), durationMs: 12, bytes: 20_000, truncated: false, linksTruncated: false, otherLinks: [], links: [] },
  facts: {
    ...{ title: `Page ${seq}`, description: null, lang: null, canonical: null, h1Count: 1, imagesWithoutAlt: 0, textLength: 10 },
    ...{ noindex: false, nofollow: false },
  },
});

/** Always the same sequence. */
function createRandom(): () => number {
  let seed = 1;
  return () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
}

/**
 * Claims the crawl that waits and runs it for `ms` without fetching anything: stores made-up pages in real batches at uneven intervals,
 * and has them published as a worker does.
 */
export async function runMadeUpCrawl(store: Store, bus: Pick<Bus, 'publish'>, ms: number): Promise<CrawlReport> {
  const stored: Moment[] = [];
  const published: Moment[] = [];
  const publisher = createCoalescedPublisher({
    bus: {
      publish(snapshot) {
        published.push({ version: snapshot.version, at: clockMs() });
        return bus.publish(snapshot);
      },
    },
    after: systemTimers.after,
  });
  function told(answer: Snapshot | 'lost'): Snapshot {
    if (answer === 'lost') throw new Error('the lease was lost');
    stored.push({ version: answer.version, at: clockMs() });
    publisher.publish(answer);
    return answer;
  }

  const token = randomUUID() as string as LeaseToken;
  const claim = await store.claim(token, 600_000);
  if (claim === null) throw new Error('there is no crawl to run');
  const { id } = claim.snapshot;
  const month = monthOf(claim.claimedAt);
  const random = createRandom();
  const end = clockMs() + ms;
  for (let batch = 1; clockMs() < end; batch++) {
    await store.grantQuota(id, token, month, PAGES);
    const seqs = Array.from({ length: PAGES }, (_, at) => (batch - 1) * PAGES + at);
    const discovered = seqs.map((seq) => ({
      ...({ seq, url: `https://example.com/${seq}`, depth: seq === 0 ? 0 : 1, status: 'queued', reason: null, redirects: 0 } as const),
      foundOn: seq === 0 ? null : 0,
    }));
    const pages = { discovered, results: seqs.map(pageOf), charges: { [month]: PAGES }, frontierTruncated: false };
    told(await store.commitPages(id, token, { number: claim.batch + batch, ...pages }));
    await delay(batch % REST_EVERY === 0 ? REST_MS : LEAST_MS + (MOST_MS - LEAST_MS) * random());
  }
  told(await store.beginAnalysis(id, token, { endReason: 'completed', error: null }));
  const { version: finalVersion } = told(await store.finish(id, token, { endReason: 'completed', error: null }, 0));
  return { stored, published, finalVersion };
}

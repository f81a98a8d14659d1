import { type Snapshot, urlsQueued } from '#domain/snapshot.ts';
import type { Builder } from './builder.ts';
import type { Enums } from './enums.ts';
import type { SiteRef } from './site.ts';

export type CrawlRef = ReturnType<typeof addCrawl>;

/** `urlsDiscovered` = crawled + redirected + failed + blocked + queued, in each answer: all of it is from one version. */
export function addCrawl(builder: Builder, enums: Enums, site: SiteRef) {
  const crawl = builder.objectRef<Snapshot>('Crawl');
  crawl.implement({
    description: 'One run over one site, from one start URL.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'A UUID; the same in REST.' }),
      url: t.exposeString('url', { description: 'The start URL, without fragment.' }),
      host: t.exposeString('host', { description: 'Its hostname without port, in punycode.' }),
      site: t.field({
        type: site,
        nullable: true, // it is read apart: that it cannot be read must not take a list of crawls along
        description: 'The site that it runs over; null only with an error.',
        // a site that is not stored yet, because a crash has cut the start short, is what its crawl knows of it
        resolve: async ({ siteId, organizationId, host, authority, startedAt }, _, { siteOf }) =>
          (await siteOf(siteId)) ?? {
            id: siteId,
            organizationId,
            host,
            authority,
            firstCrawledAt: startedAt,
            lastCrawledAt: startedAt,
          },
      }),
      state: t.expose('state', { type: enums.state, description: '`DONE` and `FAILED` are final.' }),
      phase: t.expose('phase', {
        type: enums.phase,
        description: 'What is being done with it; `FINISHED` exactly when the state is final.',
      }),
      endReason: t.expose('endReason', { type: enums.endReason, nullable: true, description: 'Why it ended; null until then.' }),
      error: t.exposeString('error', {
        nullable: true,
        description: 'Why it failed, one sentence; null unless the state is `FAILED`.',
      }),
      maxUrls: t.exposeInt('maxUrls', { description: 'The most pages that are fetched.' }),
      maxDepth: t.exposeInt('maxDepth', { description: 'How many links away from the start page; 0 is the start page only.' }),
      urlsDiscovered: t.int({
        description: 'All pages known so far: crawled, redirected, failed, blocked and queued together.',
        resolve: ({ counters }) => counters.discovered,
      }),
      urlsCrawled: t.int({ description: 'Pages fetched so far.', resolve: ({ counters }) => counters.fetched }),
      urlsRedirected: t.int({ description: 'Pages that were a redirect.', resolve: ({ counters }) => counters.redirected }),
      urlsFailed: t.int({ description: 'Pages that did not answer.', resolve: ({ counters }) => counters.failed }),
      urlsBlocked: t.int({
        description: 'Pages that were not asked for, because of robots.txt, a nofollow or the address guard.',
        resolve: ({ counters }) => counters.blocked,
      }),
      urlsQueued: t.int({ description: 'Pages still to be fetched.', resolve: ({ counters }) => urlsQueued(counters) }),
      frontierTruncated: t.exposeBoolean('frontierTruncated', {
        description: 'Whether pages were left out because too many were queued.',
      }),
      queuePosition: t.int({
        nullable: true,
        description:
          "Its place among the organization's crawls that wait for a worker, 1 for the next one; null when it does not wait. As of the read: that others leave the queue is no update.",
        resolve: async ({ id, state }, _, { queuePositionOf }) => (state === 'running' ? queuePositionOf(id) : null),
      }),
      findingsCount: t.exposeInt('findingsCount', {
        nullable: true,
        description: 'Null until analysis has completed; every `DONE` crawl has a number.',
      }),
      startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When the start was accepted; never changes.' }),
      finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'Null until finished.' }),
      version: t.exposeInt('version', { description: '+1 with every change that can be seen here; the order of updates.' }),
    }),
  });
  return crawl;
}

import { expect, it, onTestFinished } from 'vitest';
import { openEventStream } from '#http/fixtures/event-stream.ts';
import type { CrawlDocument } from '#store/mongo/documents.ts';
import { withServer } from '#store/mongo/fixtures/with-server.ts';
import { type ClusterLog, createClusterLog, memberOf } from './fixtures/cluster-log.ts';
import { startTreeSite, type TreeSite } from './fixtures/tree-site.ts';
import { type Api, apiOf, isFinal } from './server-process.ts';
import { KEY, openSharedWorld } from './shared-world.ts';

const PAGES = 300;
const ANSWER_MS = 60;

/** All that REST tells of a crawl and of its organization. */
async function viewOf(api: Api, id: string) {
  const detail = await api.fetch(`/v1/crawls/${id}`);
  return {
    etag: detail.headers.get('etag'),
    detail: await detail.json(),
    pages: await api.list(`/v1/crawls/${id}/pages`),
    findings: await api.list(`/v1/crawls/${id}/findings`),
    crawls: await api.list('/v1/crawls'),
    usage: await api.settled(),
  };
}

/** What of it does not hang on when which answer came. */
function resultOf({ detail, pages, findings }: Awaited<ReturnType<typeof viewOf>>) {
  const { state, urlsCrawled, findingsCount, error } = detail as Record<string, unknown>;
  const byText = (items: unknown[]): string[] => items.map((item) => JSON.stringify(item)).sort();
  return {
    ...{ state, urlsCrawled, findingsCount, error },
    pages: byText(
      (pages as Record<string, unknown>[]).map(({ url, status, depth, httpStatus, title }) => ({ url, status, depth, httpStatus, title })),
    ),
    findings: byText((findings as Record<string, unknown>[]).map(({ rule, url, id }) => ({ rule, url, id }))),
  };
}

withServer('a worker that is held still for longer than its lease', (url, admin) => {
  const environment = { LEASE_SECONDS: '2', CRAWL_CONCURRENCY: '4' };

  /** Starts a crawl and holds its worker still when some pages are stored; resolves when the other one has taken over. */
  async function takenOver(api: Api, site: TreeSite, log: ClusterLog, hold: (name: string) => void) {
    const id = await api.start({ url: site.origin, maxDepth: 50 });
    await api.until(id, ({ urlsCrawled }) => urlsCrawled >= 20);
    site.takes(1_000); // the crawl is not at its end before the test says so
    const { member: held } = await log.line(({ msg, crawlId }) => msg === 'crawl claimed' && crawlId === id);
    hold(held);
    const { member: other } = await log.line(({ msg, crawlId, member }) => msg === 'crawl claimed' && crawlId === id && member !== held);
    return { id, held, other };
  }
  const lost = (log: ClusterLog, id: string, held: string) =>
    log.line(
      ({ member, msg, crawlId, reason }) =>
        member === held && crawlId === id && msg === 'run ended before its crawl' && /lease/.test(reason ?? ''),
    );

  it.each(['after the other one has finished the crawl', 'in the midst of the run of the other one'])(
    'and wakes %s, says that it has lost it, and nobody sees a difference',
    { timeout: 180_000 },
    async (when) => {
      const log = createClusterLog();
      const site = await startTreeSite(PAGES, 0);
      await using world = openSharedWorld(url, admin);
      await using cluster = await world.cluster({ gateways: 1, environment, onLine: log.onLine });
      onTestFinished(cluster.kill);
      const gateway = cluster.gateways[0]?.url ?? '';
      const api = apiOf(gateway, KEY);
      const undisturbed = await viewOf(api, (await api.until(await api.start({ url: site.origin, maxDepth: 50 }), isFinal)).id);
      expect(undisturbed.detail).toMatchObject({ state: 'done', urlsCrawled: PAGES });
      site.takes(ANSWER_MS);

      const { id, held, other } = await takenOver(api, site, log, (name) => memberOf(cluster, name).signal('SIGSTOP'));
      const stream = await openEventStream(Number(new URL(gateway).port), `/v1/crawls/${id}/updates`, { Authorization: `Bearer ${KEY}` });
      if (when.startsWith('after')) {
        site.takes(0);
        await api.until(id, isFinal);
        const before = await viewOf(api, id);
        memberOf(cluster, held).signal('SIGCONT');
        await lost(log, id, held);
        expect(await viewOf(api, id)).toEqual(before);
      } else {
        const { urlsCrawled } = await api.detail(id);
        await api.until(id, (now) => now.urlsCrawled > urlsCrawled);
        memberOf(cluster, held).signal('SIGCONT');
        await lost(log, id, held);
        expect((await api.detail(id)).state).toBe('running');
        site.takes(0);
        await api.until(id, isFinal);
      }

      const view = await viewOf(api, id);
      expect(resultOf(view)).toEqual(resultOf(undisturbed));
      expect(view.usage).toMatchObject({ used: 2 * PAGES, reserved: 0 });
      const versions = (await stream.rest()).map(({ id: version }) => Number(version));
      expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
      expect(view.etag).toContain(String(versions.at(-1)));
      const crawl = await world.database.collection<CrawlDocument>('crawls').findOne({ _id: id as CrawlDocument['_id'] });
      expect(Object.values(crawl?.charged ?? {})).toEqual([PAGES]);
      expect(await world.database.collection('pages').countDocuments({ crawl: id })).toBe(view.pages.length);
      expect(log.claimers(id)).toEqual([held, other]);

      // it goes on as a worker
      await memberOf(cluster, other).end('SIGKILL');
      site.takes(0);
      const next = await api.until(await api.start({ url: site.origin, maxDepth: 50 }), isFinal);
      expect(next).toMatchObject({ state: 'done', urlsCrawled: PAGES });
      expect(log.claimers(next.id)).toEqual([held]);
      await site.close();
    },
  );
});

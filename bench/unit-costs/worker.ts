import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { BSON, type Document, type MongoClient } from 'mongodb';
import { INDEXES } from '#store/mongo/schema.ts';
import { withCluster } from '../lib/cluster.ts';
import { type CountingProxy, startCountingProxy, type Traffic, through, upstreamOf } from '../lib/counting-proxy.ts';
import { withMongo } from '../lib/mongo.ts';
import { PYTHON_DOC, withNginx } from '../lib/nginx.ts';
import { cpuSecondsOf, memoryOf } from '../lib/process.ts';
import { expectSame } from '../lib/report.ts';
import { withTempDir } from '../lib/temp.ts';
import { bytes, type Cost, type MeasureCosts, perUnit } from './cost.ts';

type Detail = { readonly state: string; readonly urlsCrawled: number };

const countOf = ({ commands }: Traffic): number => [...commands.values()].reduce((sum, count) => sum + count, 0);
const namesOf = ({ commands }: Traffic): string =>
  [...commands]
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');

/** A field by its dotted path; of an array that of its first entry. */
const valueAt = (document: Document, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>((inner, name) => ((Array.isArray(inner) ? inner[0] : inner) as Document | null | undefined)?.[name], document);
/** BSON's size of a value without that of the document around it. */
const sizeOf = (value: unknown): number => BSON.calculateObjectSize({ v: value ?? null }) - 8;

/** The documents of a collection, and the keys of its indexes before compression. */
async function sizesOf(database: ReturnType<MongoClient['db']>, name: 'crawls' | 'pages' | 'events' | 'findings') {
  const documents = await database.collection(name).find().toArray();
  const fields = [['_id'], ...(INDEXES[name] ?? []).map(({ key }) => Object.keys(key))];
  let [size, keys] = [0, 0];
  for (const document of documents) {
    size += BSON.calculateObjectSize(document);
    for (const index of fields) for (const field of index) keys += sizeOf(valueAt(document, field));
  }
  return { count: documents.length, size, keys };
}

/** Two workers on MongoDB and Redis, of which one leads, idle; then that one alone with one crawl of a link-heavy site. */
export const workerCosts: MeasureCosts = (smoke) =>
  withMongo(async (storeUrl, database) => {
    await using first = await startCountingProxy(upstreamOf(storeUrl));
    await using second = await startCountingProxy(upstreamOf(storeUrl));
    const counted = new Map([
      ['worker-1', through(storeUrl, first)],
      ['worker-2', through(storeUrl, second)],
    ]);
    const options = { storeUrl, gateways: 1, workers: 2, envOf: (name: string) => ({ STORE_URL: counted.get(name) ?? storeUrl }) };
    return await withCluster(options, ({ cluster, call, busUrl }) =>
      withTempDir((directory) =>
        withNginx(PYTHON_DOC, directory, async (url): Promise<Cost[]> => {
          const idleSeconds = smoke ? 2 : 30;
          await delay(smoke ? 100 : 5_000);
          const idleWorker = async (index: number, proxy: CountingProxy) => {
            const pid = cluster.workers[index]?.pid ?? 0;
            proxy.take();
            const cpuAtRest = await cpuSecondsOf(pid);
            await delay(idleSeconds * 1_000);
            const idle = proxy.take();
            const cpu = (await cpuSecondsOf(pid)) - cpuAtRest;
            const { residentKiB } = await memoryOf(pid);
            return { member: cluster.workers[index], pid, proxy, idle, cpu, residentKiB, connections: proxy.connections() };
          };
          const workers = await Promise.all([idleWorker(0, first), idleWorker(1, second)]);
          const [other, leader] = workers.toSorted((a, b) => countOf(a.idle) - countOf(b.idle));
          if (other === undefined || leader === undefined) throw new Error('no workers');
          await other.member?.end('SIGTERM');
          const { pid, proxy } = leader;
          await delay(smoke ? 100 : 2_000);
          proxy.take();

          const redis = new Redis(busUrl);
          const messages = new Map<string, { count: number; bytes: number }>();
          redis.on('pmessage', (_pattern, channel: string, text: string) => {
            const kind = channel.split(':')[1] ?? '';
            const known = messages.get(kind) ?? { count: 0, bytes: 0 };
            messages.set(kind, { count: known.count + 1, bytes: known.bytes + Buffer.byteLength(text) });
          });
          await redis.psubscribe('crawlgate:*');
          const cpuBefore = await cpuSecondsOf(pid);
          const begun = performance.now();
          const { id } = await call<{ id: string }>('POST', '/v1/crawls', 202, { url, maxUrls: smoke ? 40 : 10_000, maxDepth: 10 });
          let detail: Detail;
          do {
            await delay(100);
            detail = await call<Detail>('GET', `/v1/crawls/${id}`, 200);
          } while (detail.state === 'running');
          const seconds = (performance.now() - begun) / 1_000;
          await delay(2_500); // the relay brings the last events to the log
          const crawl = proxy.take();
          const cpu = (await cpuSecondsOf(pid)) - cpuBefore;
          const { peakKiB } = await memoryOf(pid);
          redis.disconnect();
          expectSame('the state of the crawl', 'done', detail.state);
          const pages = detail.urlsCrawled;
          expectSame('pages in MongoDB', pages, await database.collection('pages').countDocuments({ status: 'fetched' }));
          const batches = Number((await database.collection('crawls').findOne())?.batch);
          const [ofPages, ofCrawls, ofEvents] = [
            await sizesOf(database, 'pages'),
            await sizesOf(database, 'crawls'),
            await sizesOf(database, 'events'),
          ];
          // what the worker would have asked for without the crawl
          const idleCommands = (countOf(leader.idle) / idleSeconds) * (seconds + 2.5);
          const own = messages.get('crawl') ?? { count: 0, bytes: 0 };
          const all = [...messages.values()].reduce((sum, { count }) => sum + count, 0);
          const how = `python3-doc, ${pages} pages, ${batches} batches, ${seconds.toFixed(1)} s`;
          return [
            {
              of: 'page, MongoDB',
              what: 'BSON of its document',
              value: bytes(ofPages.size / ofPages.count),
              how: `${how}; before compression`,
            },
            {
              of: 'page, MongoDB',
              what: 'keys of its indexes',
              value: bytes(ofPages.keys / ofPages.count),
              how: '`_id` and 3 indexes, before prefix compression',
            },
            {
              of: 'crawl, MongoDB',
              what: 'BSON of its document, ended',
              value: bytes(ofCrawls.size / ofCrawls.count),
              how: 'without pages; while it runs with its last batch, at most 1 MiB',
            },
            {
              of: 'crawl, MongoDB',
              what: 'keys of its indexes',
              value: bytes(ofCrawls.keys / ofCrawls.count),
              how: '`_id` and 12 indexes',
            },
            {
              of: 'event, MongoDB',
              what: 'BSON and keys',
              value: bytes((ofEvents.size + ofEvents.keys) / ofEvents.count),
              how: `${ofEvents.count} events of the crawl`,
            },
            {
              of: 'crawl, worker',
              what: 'commands, idle ones taken off',
              value: perUnit(countOf(crawl) - idleCommands),
              how: `${how}: ${namesOf(crawl)}`,
            },
            { of: 'page, worker', what: 'commands', value: perUnit((countOf(crawl) - idleCommands) / pages), how: 'the same' },
            {
              of: 'batch, worker',
              what: 'pages',
              value: perUnit(pages / batches),
              how: 'two commands each; discovered URLs count as pages of a batch too',
            },
            {
              of: 'page, worker',
              what: 'bytes to MongoDB',
              value: bytes(crawl.sent / pages),
              how: 'each batch is sent twice: as `pending` of the crawl, and as pages',
            },
            {
              of: 'page, worker',
              what: 'bytes from MongoDB',
              value: bytes(crawl.received / pages),
              how: 'frontier and analysis read the pages again',
            },
            {
              of: 'page, worker',
              what: 'CPU',
              value: `${perUnit((cpu * 1_000) / pages)} ms`,
              how: 'all threads; the first crawl of the process',
            },
            {
              of: 'worker',
              what: 'memory, idle / during this crawl',
              value: `${perUnit(leader.residentKiB / 1024)} / ${perUnit(peakKiB / 1024)} MiB`,
              how: 'resident set of all threads',
            },
            {
              of: 'idle worker',
              what: 'commands a second',
              value: perUnit(countOf(other.idle) / idleSeconds),
              how: `${idleSeconds} s: ${namesOf(other.idle)}`,
            },
            {
              of: 'idle worker that leads',
              what: 'commands a second',
              value: perUnit(countOf(leader.idle) / idleSeconds),
              how: `${idleSeconds} s: ${namesOf(leader.idle)}`,
            },
            {
              of: 'idle worker',
              what: 'bytes a second to and from MongoDB',
              value: `${bytes(other.idle.sent / idleSeconds)}, ${bytes(other.idle.received / idleSeconds)}`,
              how: 'the same',
            },
            {
              of: 'idle worker',
              what: 'connections to MongoDB',
              value: String(other.connections),
              how: 'of main and crawler thread, monitors included',
            },
            { of: 'idle worker', what: 'CPU', value: `${perUnit((other.cpu * 100) / idleSeconds)} %`, how: 'of one core' },
            {
              of: 'update',
              what: 'bytes of a message',
              value: bytes(own.bytes / own.count),
              how: `JSON of a snapshot, ${own.count} updates of the crawl`,
            },
            {
              of: 'update',
              what: 'messages',
              value: perUnit(all / own.count),
              how: 'one for the crawl, one for the organization; the first also for the queue',
            },
          ];
        }),
      ),
    );
  });

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Bench, expectSame, milliseconds, perSecond, ratio, WrongWork } from './lib/report.ts';
import { seedCrawls } from './lib/seed.ts';
import { type Service, withService } from './lib/service.ts';
import { interleave, median } from './lib/stats.ts';
import { withTempDir } from './lib/temp.ts';
import { type Load, wrk } from './lib/wrk.ts';

const LIMIT = 50;

type Page = { readonly data: readonly { readonly id: string; readonly startedAt: string }[]; readonly nextCursor: string | null };

const pathOf = (cursor: string | null): string =>
  `/v1/crawls?limit=${LIMIT}${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;

/** Follows the cursors to page `number` (the first is 1), checking that each page goes on where the last one ended. */
async function walkTo(number: number, service: Service): Promise<string> {
  let cursor: string | null = null;
  let last = '9999';
  for (let page = 1; page < number; page++) {
    const { data, nextCursor }: Page = await service.call<Page>('GET', pathOf(cursor), 200);
    expectSame(`crawls on page ${page}`, LIMIT, data.length);
    for (const { startedAt } of data) {
      if (startedAt >= last) throw new WrongWork(`page ${page} is out of order: ${startedAt} comes after ${last}`);
      last = startedAt;
    }
    if (nextCursor === null) throw new WrongWork(`the list ends on page ${page}`);
    cursor = nextCursor;
  }
  return pathOf(cursor);
}

/** The same request at the beginning of the list and far inside it. */
export const list: Bench = ({ smoke, rounds }) =>
  withTempDir(async (directory) => {
    const dataDir = join(directory, 'data');
    await mkdir(dataDir, { mode: 0o700 });
    const count = smoke ? 5_000 : 1_000_000;
    const far = smoke ? 20 : 1_000;
    const seconds = smoke ? 1 : 5;
    const env = { RETENTION_DAYS: '36500' };
    await withService({ dataDir, env }, async ({ databaseFile }) => databaseFile).then((file) => seedCrawls(file, count));
    return withService({ dataDir, env }, async (service) => {
      const farPath = await walkTo(far, service);
      const { data } = await service.call<Page>('GET', farPath, 200);
      expectSame(`crawls on page ${far}`, LIMIT, data.length);
      const load = async (path: string, duration = seconds): Promise<Load> => {
        const headers = { authorization: `Bearer ${service.key}` };
        const measured = await wrk(service.address + path, { connections: 1, seconds: duration, headers });
        expectSame('answers other than 200', 0, measured.refused);
        return measured;
      };
      await load(pathOf(null), 1);
      await load(farPath, 1);
      const results = await interleave<'first' | 'far', Load>(smoke ? 1 : rounds, {
        first: () => load(pathOf(null)),
        far: () => load(farPath),
      });
      const of = (name: 'first' | 'far', field: keyof Load): number => median(results[name].map((measured) => measured[field]));
      const row = (label: string, name: 'first' | 'far'): string[] => [
        label,
        perSecond(of(name, 'requestsPerSecond')),
        milliseconds(of(name, 'p50Ms')),
        milliseconds(of(name, 'p99Ms')),
      ];
      return {
        name: 'list',
        title: `\`GET /v1/crawls?limit=${LIMIT}\` of ${count.toLocaleString('en')} stored crawls, one connection, ${seconds} s a round, ${smoke ? 1 : rounds} interleaved rounds, medians.`,
        head: ['', 'requests/s', 'p50', 'p99'],
        rows: [row('page 1', 'first'), row(`page ${far.toLocaleString('en')}`, 'far')],
        targets: [
          {
            what: `time of page ${far.toLocaleString('en')} against page 1`,
            measured: ratio(of('first', 'requestsPerSecond') / of('far', 'requestsPerSecond')),
            target: '≤ 1.5 ×',
          },
        ],
        notes: [
          `Page ${far.toLocaleString('en')} is reached by following ${(far - 1).toLocaleString('en')} cursors; each page is checked to go on in order.`,
        ],
      };
    });
  });

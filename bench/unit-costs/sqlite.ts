import { stat } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { PYTHON_DOC, withNginx } from '../lib/nginx.ts';
import { expectSame } from '../lib/report.ts';
import { withService } from '../lib/service.ts';
import { withTempDir } from '../lib/temp.ts';
import { bytes, type MeasureCosts, perUnit } from './cost.ts';

type Detail = { readonly state: string; readonly urlsCrawled: number };

/** The file that one crawl of a link-heavy site makes. */
export const sqliteCosts: MeasureCosts = (smoke) =>
  withTempDir((directory) =>
    withNginx(PYTHON_DOC, directory, async (url) => {
      const env = { CRAWL_ALLOW_NETWORKS: '127.0.0.0/8' };
      const found = await withService({ dataDir: directory, env }, async ({ call, databaseFile, rest, memory, cpuSeconds }) => {
        await rest();
        const idle = await memory();
        const cpuBefore = await cpuSeconds();
        const { id } = await call<{ id: string }>('POST', '/v1/crawls', 202, { url, maxUrls: smoke ? 40 : 10_000, maxDepth: 10 });
        let detail: Detail;
        do {
          await delay(100);
          detail = await call<Detail>('GET', `/v1/crawls/${id}`, 200);
        } while (detail.state === 'running');
        expectSame('the state of the crawl', 'done', detail.state);
        return { databaseFile, pages: detail.urlsCrawled, idle, peak: await memory(), cpu: (await cpuSeconds()) - cpuBefore };
      });
      const { databaseFile, pages, idle, peak, cpu } = found;
      const { size } = await stat(databaseFile);
      const database = new DatabaseSync(databaseFile, { readOnly: true });
      const links = Number(database.prepare('select avg(length(links)) as bytes from pages').get()?.bytes);
      database.close();
      const how = `python3-doc, ${pages} pages`;
      return [
        { of: 'page, SQLite', what: 'bytes in the file, indexes included', value: bytes(size / pages), how: `${how}; file after the stop` },
        { of: 'page, SQLite', what: 'of these its outgoing links', value: bytes(links), how: 'average length of the packed links' },
        { of: 'page, role all', what: 'CPU of the process', value: `${perUnit((cpu * 1_000) / pages)} ms`, how: `${how}; start included` },
        {
          of: 'process, role all',
          what: 'memory, idle / during this crawl',
          value: `${perUnit(idle.residentKiB / 1024)} / ${perUnit(peak.peakKiB / 1024)} MiB`,
          how: 'resident set of all threads',
        },
      ];
    }),
  );

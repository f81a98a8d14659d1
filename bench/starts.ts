import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startNode } from './lib/process.ts';
import { type Bench, expectSame, milliseconds, perSecond, ratio, WrongWork } from './lib/report.ts';
import { countRows, seedKeys } from './lib/seed.ts';
import { type Service, withService } from './lib/service.ts';
import { interleave, median } from './lib/stats.ts';
import { withTempDir } from './lib/temp.ts';
import { type Load, wrk } from './lib/wrk.ts';

const BARE = fileURLToPath(new URL('./baselines/bare-starts.ts', import.meta.url));
const CONNECTIONS = 64;
const SECRET_PREFIX = 'cg_bench_key_of_the_starts_';
const secretOf = (index: number): string => `${SECRET_PREFIX}${String(index).padStart(8, '0')}`;

/** POSTs with the keys from `firstKey` on in turn, beginning again after `keys`. */
const scriptOf = (url: string, firstKey: number, keys: number): string => `
local key = 0
request = function()
  local headers = { ["content-type"] = "application/json", ["authorization"] = string.format("Bearer ${SECRET_PREFIX}%08d", ${firstKey} + key) }
  key = (key + 1) % ${keys}
  return wrk.format("POST", "/v1/crawls", headers, '{"url":"${url}"}')
end`;

/** A site whose first page never ends: the crawl of it holds the worker's only slot. */
async function withEndlessSite<T>(use: (address: string) => Promise<T>): Promise<T> {
  const server = createServer(({ url }, response) => {
    if (url === '/robots.txt') response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': 'text/html' }).flushHeaders();
  });
  server.listen(0, '127.0.0.1');
  await new Promise((listening) => server.once('listening', listening));
  const address = server.address();
  try {
    return await use(address !== null && typeof address === 'object' ? `http://127.0.0.1:${address.port}/` : '');
  } finally {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
}

/** Starts under load; every 202 must have become a stored crawl. */
async function starts202(address: string, databaseFile: string, script: string, seconds: number): Promise<Load> {
  const before = countRows(databaseFile, 'crawls');
  const measured = await wrk(address, { connections: CONNECTIONS, seconds, script });
  expectSame('starts that were refused', 0, measured.refused);
  const stored = countRows(databaseFile, 'crawls') - before;
  const accepted = Math.floor(measured.requestsPerSecond * seconds * 0.99);
  if (stored < accepted) throw new WrongWork(`about ${accepted} starts were accepted, only ${stored} crawls are stored`);
  return measured;
}

/** Occupies the worker's slot, so that the accepted crawls wait and only their acceptance is measured. */
async function occupyWorker(service: Service, url: string): Promise<void> {
  const { id } = await service.call<{ id: string }>('POST', '/v1/crawls', 202, { url, maxUrls: 1 });
  await delay(1_500);
  const { state } = await service.call<{ state: string }>('GET', `/v1/crawls/${id}`, 200);
  expectSame('the state of the crawl that holds the worker', 'running', state);
}

export const starts: Bench = ({ smoke, rounds }) =>
  withTempDir((directory) =>
    withEndlessSite(async (url) => {
      const seconds = smoke ? 1 : 5;
      const keysPerRound = smoke ? 2_000 : 5_000;
      const allRounds = smoke ? 1 : rounds;
      let round = 0;
      const service = async (): Promise<Load> => {
        const dataDir = join(directory, `data-${round++}`);
        await mkdir(dataDir, { mode: 0o700 });
        const env = { WORKER_CRAWLS: '1', CRAWL_ALLOW_NETWORKS: '127.0.0.0/8' };
        await withService({ dataDir, env }, async ({ databaseFile }) => databaseFile).then((file) =>
          seedKeys(file, keysPerRound, secretOf),
        );
        return withService({ dataDir, env }, async (running) => {
          await occupyWorker(running, url);
          await wrk(running.address, { connections: CONNECTIONS, seconds: 1, script: scriptOf(url, 0, keysPerRound) });
          return starts202(running.address, running.databaseFile, scriptOf(url, 0, keysPerRound), seconds);
        });
      };
      const bare = async (): Promise<Load> => {
        const file = join(directory, `bare-${round++}.db`);
        const running = await startNode([BARE, file], {}, /^http:/);
        try {
          await wrk(running.readyLine, { connections: CONNECTIONS, seconds: 1, script: scriptOf(url, 0, keysPerRound) });
          return await starts202(running.readyLine, file, scriptOf(url, 0, keysPerRound), seconds);
        } finally {
          await running.stop();
        }
      };
      const results = await interleave<'bare' | 'crawlgate', Load>(allRounds, { bare, crawlgate: service });
      const of = (name: 'bare' | 'crawlgate', field: keyof Load): number => median(results[name].map((measured) => measured[field]));
      const row = (label: string, name: 'bare' | 'crawlgate'): string[] => [
        label,
        perSecond(of(name, 'requestsPerSecond')),
        milliseconds(of(name, 'p50Ms')),
        milliseconds(of(name, 'p99Ms')),
      ];
      return {
        name: 'starts',
        title: `Accepted \`POST /v1/crawls\`, ${keysPerRound.toLocaleString('en')} keys, wrk with ${CONNECTIONS} connections, ${seconds} s a round, ${allRounds} interleaved rounds, medians.`,
        head: ['', 'accepted/s', 'p50', 'p99'],
        rows: [row('bare node:http + node:sqlite', 'bare'), row('crawlgate', 'crawlgate')],
        targets: [
          { what: 'accepted and durable starts a second', measured: perSecond(of('crawlgate', 'requestsPerSecond')), target: '≥ 500' },
          {
            what: 'against the bare insert',
            measured: ratio(of('crawlgate', 'requestsPerSecond') / of('bare', 'requestsPerSecond')),
            target: 'told',
          },
        ],
        notes: [
          'Both databases have synchronous=FULL; the bare server makes one transaction of each start, crawlgate one of all that wait (group commit).',
          "The worker's only slot (WORKER_CRAWLS=1) is held by a crawl of a page that never ends, so that the accepted crawls stay queued: acceptance is measured, crawling is not. The relay of their events runs.",
          'Every 202 is checked to be a stored crawl afterwards, and none may be refused.',
        ],
      };
    }),
  );

import { createClient } from 'graphql-ws';
import { expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { freePort } from '../scripts/cluster/free-port.ts';
import { startRowSite } from './fixtures/row-site.ts';
import { apiOf, keyOf, startServer, tempDataDir } from './server-process.ts';

const WATCH = 'subscription ($id: ID!) { crawlUpdated(id: $id) { state version urlsCrawled } }';
const PAGES = 60;

type Update = { readonly state: string; readonly version: number; readonly urlsCrawled: number };

it('a client of graphql-ws is told by 1001 that its server stops, connects to the next one, and goes on to the end', {
  timeout: 120_000,
}, async () => {
  const site = await startRowSite(PAGES, 40);
  using dataDir = tempDataDir();
  const port = `${await freePort()}`;
  const first = await startServer(dataDir.path, { PORT: port });
  const api = apiOf(first.url, keyOf(dataDir.path));
  const id = await api.start({ url: site.origin, maxDepth: 100 });
  const codes: unknown[] = [];
  const client = createClient({
    url: `ws://127.0.0.1:${port}/graphql`,
    connectionParams: { authorization: `Bearer ${keyOf(dataDir.path)}` },
    webSocketImpl: WebSocket,
    retryAttempts: 500,
    shouldRetry: () => true, // else it gives up at the first connection that is refused, while there is no server
    retryWait: () => new Promise((resolve) => setTimeout(resolve, 50)),
    on: { closed: (event) => void codes.push((event as { code: number }).code) },
  });
  const updates: Update[] = [];
  const midway = Promise.withResolvers<void>();
  /** Resolves with each update. */
  let next = Promise.withResolvers<void>();
  const watching = (async () => {
    for await (const { data, errors } of client.iterate<{ crawlUpdated: Update }>({ query: WATCH, variables: { id } })) {
      if (data == null) throw new Error(JSON.stringify(errors));
      updates.push(data.crawlUpdated);
      if (data.crawlUpdated.urlsCrawled >= 5) midway.resolve();
      next.resolve();
    }
  })();
  await Promise.race([midway.promise, watching]);
  site.takes(1_000); // the crawl is not at its end before the client is there again
  first.kill('SIGTERM');
  expect(await first.ended).toEqual({ code: 0, signal: null });
  expect(codes[0]).toBe(1001);
  const before = updates.length;
  next = Promise.withResolvers();
  await using second = await startServer(dataDir.path, { PORT: port });
  expect(second.url).toBe(first.url);
  await Promise.race([next.promise, watching]);
  site.takes(0);
  await watching;

  expect(updates.length).toBeGreaterThan(before + 1);
  const versions = updates.map(({ version }) => version);
  // what is stored comes first again after connecting, so that one version may be told twice
  expect(versions).toEqual(versions.toSorted((a, b) => a - b));
  expect(updates.filter(({ state }) => state !== 'RUNNING')).toEqual([{ state: 'DONE', version: versions.at(-1), urlsCrawled: PAGES }]);
  await client.dispose();
  await site.close();
});

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { freePort } from '../scripts/cluster/free-port.ts';
import { KEY, ROOT, startExample, startWorld } from './fixtures/example.ts';

const TYPED_CLIENT = 'examples/typed-client';
const inTypedClient = (script: string): string[] => ['npm', 'run', '--silent', script, '--prefix', TYPED_CLIENT, '--'];

/** What each says of a crawl under way and of one that has ended, and of a key that is refused. */
const EXAMPLES = {
  'examples/watch-crawl.ts': {
    command: [process.execPath, 'examples/watch-crawl.ts'],
    running: /^RUNNING FETCHING 2 crawled$/m,
    done: /^DONE FINISHED 3 crawled$/m,
    refused: 'The connection was closed: 4403 The API key is not known, or it was revoked.',
  },
  'examples/apollo-client.ts': {
    command: [process.execPath, 'examples/apollo-client.ts'],
    running: /^subscription {2}RUNNING 2 crawled, no findings$/m,
    done: /^subscription {2}DONE 3 crawled, \d findings\ncache {9}DONE 3 crawled, \d findings\nquery {9}DONE 3 crawled, \d findings$/m,
    refused: 'The API key is not known, or it was revoked.',
  },
  'examples/curl.sh': {
    command: ['examples/curl.sh'],
    running: /"state":"RUNNING","phase":"FETCHING","urlsCrawled":2/,
    done: /"state":"DONE","phase":"FINISHED","urlsCrawled":3.*\n\{"data":\{"crawl":\{"host":"127.0.0.1","state":"DONE","urlsCrawled":3,/,
    refused: '{"errors":[{"message":"The API key is not known, or it was revoked.","extensions":{"code":"unauthorized"}}]}',
  },
  [TYPED_CLIENT]: {
    command: inTypedClient('start'),
    running: /^RUNNING FETCHING 2 crawled, no findings\./m,
    done: /^DONE FINISHED 3 crawled, \d findings\./m,
    refused: '[GraphQL] The API key is not known, or it was revoked.',
  },
};

const isInstalled = (name: string): boolean => name !== TYPED_CLIENT || existsSync(join(ROOT, TYPED_CLIENT, 'node_modules'));

for (const [name, { command, running, done, refused }] of Object.entries(EXAMPLES)) {
  describe(name, () => {
    if (!isInstalled(name)) return void it.skip(`(to run: npm ci --prefix ${TYPED_CLIENT})`, () => {});

    it('follows a crawl live, to its final state', async () => {
      await using world = await startWorld();
      await using example = startExample([...command, `${world.site.origin}/`], {
        CRAWLGATE_URL: world.server().url,
        CRAWLGATE_API_KEY: KEY,
      });
      await example.said(running);
      world.release();
      await example.said(done);
      expect(await example.ended).toMatchObject({ code: 0 });
    });

    it('goes on with the crawl when the service is restarted', async () => {
      await using world = await startWorld();
      await using example = startExample([...command, `${world.site.origin}/`], {
        CRAWLGATE_URL: world.server().url,
        CRAWLGATE_API_KEY: KEY,
      });
      await example.said(running);
      await world.restart();
      world.release();
      await example.said(done);
      expect(await example.ended).toMatchObject({ code: 0 });
    }, 120_000);

    it('says at once that its key is refused', async () => {
      await using world = await startWorld();
      await using example = startExample([...command, `${world.site.origin}/`], {
        CRAWLGATE_URL: world.server().url,
        CRAWLGATE_API_KEY: 'wrong',
      });
      const { code, stdout, stderr } = await example.ended;
      expect(code).toBe(1);
      expect(stdout + stderr).toContain(refused);
    });

    it('says what it needs when it is started without', async () => {
      for (const [words, environment] of [
        [[], { CRAWLGATE_API_KEY: KEY }],
        [['http://127.0.0.1/'], {}],
      ] as const) {
        await using example = startExample([...command, ...words], environment);
        const { code, stderr } = await example.ended;
        expect(code).toBeGreaterThan(0);
        expect(stderr).toContain(words.length === 0 && name.endsWith('.sh') ? 'the URL to start from' : 'CRAWLGATE_API_KEY');
      }
    });

    it('says at once that the service cannot be reached, and where', async () => {
      const url = `http://127.0.0.1:${await freePort()}`;
      await using example = startExample([...command, 'http://127.0.0.1/'], { CRAWLGATE_URL: url, CRAWLGATE_API_KEY: KEY });
      const { code, stdout, stderr } = await example.ended;
      expect(code).toBe(1);
      expect(stdout + stderr).toContain(`The service cannot be reached at ${url}`);
    });

    if (name === TYPED_CLIENT) {
      it('is checked against the schema, and each mistake in it is an error of types', async () => {
        await using check = startExample(inTypedClient('check'));
        expect(await check.ended).toMatchObject({ code: 0 });
      });
    }
  });
}

import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import { withRedisServer } from '#redis/fixtures/redis-server.ts';
import { withServer } from '#store/mongo/fixtures/with-server.ts';
import { type Spawned, spawnProcess } from '../scripts/cluster/spawn.ts';
import { page, startSite } from './fixtures/site.ts';
import { apiOf, environmentOf, isFinal } from './server-process.ts';
import { KEY, openSharedWorld } from './shared-world.ts';

vi.setConfig({ testTimeout: 180_000 });

const SCRIPT = fileURLToPath(new URL('../scripts/cluster.ts', import.meta.url));
const startScript = (environment: Readonly<Record<string, string>>): Spawned => spawnProcess([process.execPath, SCRIPT], { environment });

type Told = { readonly name: string; readonly url: string; readonly pid: number };

/** Every process that it has told of, the present one of each name. */
function membersOf({ output }: Spawned): Map<string, Told> {
  const lines = output.stdout.matchAll(/^cluster: (\S+) +(\S+:\/\/\S+) +pid (\d+)$/gm);
  return new Map([...lines].map(([, name = '', url = '', pid]) => [name, { name, url, pid: Number(pid) }]));
}

/** Whether there is such a process. */
function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

withServer('npm run cluster', (url, admin) =>
  withRedisServer(() => {
    it('starts the topology, restarts what is killed while crawls go on, and ends everything in order on SIGTERM', async () => {
      await using world = openSharedWorld(url, admin);
      const cluster = startScript({ ...world.environment, LEASE_SECONDS: '2' });
      await cluster.says(/^cluster: ready; .*\n/m);
      const before = membersOf(cluster);
      expect([...before.keys()]).toEqual(['redis', 'gateway-1', 'gateway-2', 'worker-1', 'worker-2']);
      const links = Array.from({ length: 100 }, (_, n) => `/${n}`);
      const site = await startSite({
        '/': page('Home', links),
        ...Object.fromEntries(links.map((link) => [link, (_: unknown, response) => void setTimeout(() => response.end(page(link)), 200)])),
      });
      const [one, other] = ['gateway-1', 'gateway-2'].map((name) => apiOf(before.get(name)?.url ?? '', KEY));
      const id = (await one?.start({ url: site.origin })) ?? '';
      await one?.until(id, ({ urlsCrawled }) => urlsCrawled >= 5);
      const [runner] = await cluster.says(new RegExp(`^worker-\\d(?=.*${id}.*crawl claimed)`, 'm'));
      process.kill(before.get(runner)?.pid ?? Number.NaN, 'SIGKILL'); // 0 would be the processes of this test
      await cluster.says(new RegExp(`^cluster: ${runner} ended by SIGKILL and is started again\\n(.*\\n)*cluster: ${runner} +http`, 'm'));
      expect(await other?.until(id, isFinal)).toMatchObject({ state: 'done', urlsCrawled: 101 });
      const after = membersOf(cluster);
      expect(after.get(runner)).toMatchObject({ url: before.get(runner)?.url });
      expect(after.get(runner)?.pid).not.toBe(before.get(runner)?.pid);

      cluster.kill('SIGTERM');
      expect(await cluster.ended).toEqual({ code: 0, signal: null });
      const ends = [...cluster.output.stdout.matchAll(/^(\S+) +\|.*(?:"msg":"stopped"|ready to exit)/gm)].map(([, name = '']) => name);
      expect([ends.slice(0, 2).toSorted(), ends.slice(2, 4).toSorted(), ends.slice(4)]).toEqual([
        ['gateway-1', 'gateway-2'],
        ['worker-1', 'worker-2'],
        ['redis'],
      ]);
      for (const { pid } of [...before.values(), ...after.values()]) expect(lives(pid)).toBe(false);
      await site.close();
    });

    it('ends with the reason, and leaves nothing behind, when a part does not start', async () => {
      await using world = openSharedWorld(url, admin);
      const cluster = startScript({ ...world.environment, CRAWLGATE_API_KEY: '' });
      expect(await cluster.ended).toEqual({ code: 1, signal: null });
      expect(cluster.output.stderr).toMatch(/^cluster: .*set CRAWLGATE_API_KEY[^\n]*\n$/);
      const [, pid] = /^redis +\| .*pid=(\d+)/m.exec(cluster.output.stdout) ?? [];
      expect(lives(Number(pid))).toBe(false);
    });

    it('ends at once when it is asked to before it is ready', async () => {
      await using world = openSharedWorld(url, admin);
      const cluster = startScript(world.environment);
      const [, pid] = await cluster.says(/^redis +\| .*pid=(\d+)/m);
      cluster.kill('SIGINT');
      await cluster.ended;
      while (lives(Number(pid))) await delay(20); // ended by then, and soon gone
      expect(cluster.output.stdout).not.toContain('cluster: ready');
    });
  }),
);

it('npm run cluster says what to set when STORE_URL names no MongoDB', async () => {
  const cluster = startScript(environmentOf({ STORE_URL: 'sqlite:x.db' }));
  expect(await cluster.ended).toEqual({ code: 1, signal: null });
  expect(cluster.output).toEqual({ stdout: '', stderr: expect.stringMatching(/^cluster: set STORE_URL=mongodb:[^\n]*\n$/) });
});

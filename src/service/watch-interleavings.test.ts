import { expect, it, onTestFinished } from 'vitest';
import { unavailable } from '#domain/errors.ts';
import { isFinal, type Snapshot } from '#domain/snapshot.ts';
import { settled } from './fixtures/manual-timers.ts';
import { openWatchWorld, type Reading, readAll, type WatchWorld } from './fixtures/watch-world.ts';

/** Where the crawl may go on while somebody begins to watch it. */
const PLACES = ['before attaching', 'after attaching', 'before the read', 'after the read', 'before the first next', 'after it'] as const;
type Place = (typeof PLACES)[number];

/** What the crawl does: each change is stored, and then told. */
const STEPS = 6;

/** How the steps may fall on the places: all of them, in order, 462 ways. */
function distributions(steps: number = STEPS, places: number = PLACES.length): number[][] {
  if (places === 1) return [[steps]];
  const rest = (taken: number) => distributions(steps - taken, places - 1).map((others) => [taken, ...others]);
  return Array.from({ length: steps + 1 }, (_, taken) => rest(taken)).flat();
}

/** What becomes of a snapshot that is told. */
const BUSES = {
  'tells everything': (world: WatchWorld, snapshot: Snapshot) => world.bus.publish(snapshot),
  'tells everything twice, and what came before again': async (world: WatchWorld, snapshot: Snapshot, before: readonly Snapshot[]) => {
    for (const told of [snapshot, snapshot, ...before]) await world.bus.publish(told);
  },
  'loses everything': async () => {},
} as const;

type Interleaving = {
  readonly falls: readonly number[];
  readonly bus: keyof typeof BUSES;
  readonly failing?: boolean;
  readonly whole?: boolean;
};

/** Watches a crawl of its own, or by `whole` its organization, while it goes on as `falls` says; `failing`: the first read does not answer. */
async function interleave(world: WatchWorld, { falls, bus, failing = false, whole = false }: Interleaving) {
  const { hub, caller, running, timers, faults } = world;
  const crawl = await running();
  const stored: Snapshot[] = [];
  const store = (change: () => Promise<Snapshot>) => async () => void stored.push(await change());
  const tell = async () => BUSES[bus](world, stored.at(-1) as Snapshot, stored.slice(0, -1));
  const steps = [store(crawl.commit), tell, store(crawl.commit), tell, store(crawl.finish), tell];
  const at = async (place: Place): Promise<void> => {
    if (place !== 'after it') for (const step of steps.splice(0, falls[PLACES.indexOf(place)])) await step();
    else
      for (const step of steps.splice(0)) {
        await step();
        await timers.advance(200); // the pace lets each one through
      }
  };

  let passed = false;
  faults.around = async (call, _args, go) => {
    const [before, after]: [Place, Place] =
      call === 'subscribe' ? ['before attaching', 'after attaching'] : ['before the read', 'after the read'];
    if (passed || call === 'findKeyBySecret') return go();
    await at(before);
    const answer = await go();
    await at(after);
    if (call === 'subscribe' || call === 'now') return answer;
    passed = true;
    if (failing) throw unavailable('cut off');
    return answer;
  };
  const open = () => (whole ? hub.watchOrganization(caller) : hub.watchCrawl(crawl.id, caller));
  const watch = await open().catch(open);
  const finalBefore = stored.some(isFinal);
  await at('before the first next');
  const reading = readAll(watch);
  await at('after it');
  await settled();
  // only what the bus has lost needs time: until it is read again
  if (bus === 'loses everything') await timers.advance(reading.end === null ? 11_000 : 0);
  if (whole) await watch.return();
  return { reading, stored, finalBefore };
}

function problemsOf({ given, versions }: Reading, stored: readonly Snapshot[]): string[] {
  const finals = given.filter(isFinal);
  return [
    ...(versions.some((version, n) => n > 0 && version <= (versions[n - 1] as number)) ? ['not rising'] : []),
    ...(finals.length === 0 ? ['no final'] : []),
    ...(finals.length > 1 ? ['final repeated'] : []),
    ...(finals.length === 1 && given.at(-1) !== finals[0] ? ['something after the final'] : []),
    ...(versions.at(-1) === stored.at(-1)?.version ? [] : ['not the last version']),
    ...(given.every(({ id }) => id === stored[0]?.id) ? [] : ['another crawl']),
  ];
}

it('begins 462 different ways', () => {
  expect(new Set(distributions().map(String)).size).toBe(462);
});

it.each([
  ['tells everything', false],
  ['tells everything twice, and what came before again', false],
  ['loses everything', false],
  ['tells everything', true],
] as const)(
  'gives rising versions and the final one once, wherever the crawl goes on in the meantime, with a bus that %s (the first read fails: %s)',
  async (bus, failing) => {
    const world = await openWatchWorld();
    onTestFinished(world.close);
    const wrong: string[] = [];
    const caughtLate = { initial: 0, later: 0 };
    for (const falls of distributions()) {
      const { reading, stored } = await interleave(world, { falls, bus, failing });
      for (const problem of problemsOf(reading, stored)) wrong.push(`${falls.join(' ')}: ${problem} (${reading.versions.join(', ')})`);
      if (reading.end?.kind !== 'final' || reading.error !== null) wrong.push(`${falls.join(' ')}: not ended by the final`);
      if (reading.given.length === 1) caughtLate.initial++;
      else caughtLate.later++;
      world.expectNothingLeft();
    }
    expect(wrong).toEqual([]);
    // both ways were taken: the crawl was final before the watch had begun, and it ended under it
    expect(Math.min(caughtLate.initial, caughtLate.later)).toBeGreaterThan(50);
  },
  120_000,
);

it.each(['tells everything', 'tells everything twice, and what came before again', 'loses everything'] as const)(
  'tells the watcher of an organization all that happens once its watch has begun, with a bus that %s',
  async (bus) => {
    const world = await openWatchWorld();
    onTestFinished(world.close);
    const wrong: string[] = [];
    let untold = 0;
    for (const falls of distributions()) {
      const { reading, stored, finalBefore } = await interleave(world, { falls, bus, whole: true });
      if (finalBefore && reading.given.length === 0) untold++;
      else for (const problem of problemsOf(reading, stored)) wrong.push(`${falls.join(' ')}: ${problem} (${reading.versions.join(', ')})`);
      world.expectNothingLeft();
    }
    expect(wrong).toEqual([]);
    expect(untold).toBeGreaterThan(50);
    expect(untold).toBeLessThan(400);
  },
  120_000,
);

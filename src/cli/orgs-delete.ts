import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { DEFAULT_ORGANIZATION_ID, type OrganizationId } from '#domain/ids.ts';
import { COPY_KINDS, type CopyKind } from '#store/copy-store.ts';
import type { AccountStore, OrganizationRemoval, Store } from '#store/store.ts';
import { noOrganization, removalOf, withStore } from './accounts.ts';
import { type Context, UsageError } from './context.ts';
import { KIND_NAMES } from './kind-names.ts';
import { printRecord, printRows, timeOf } from './output.ts';
import { createRemovalProgress, type RemovalProgress } from './removal-progress.ts';

type Options = { readonly confirm?: string; readonly json: boolean };
type Counts = Readonly<Record<CopyKind, number>>;

/** The least time between two steps: room for the writes of a server on the same file, which tries again every 5 ms. */
const LEAST_PAUSE_MS = 10;

const HELP = `
Removes an organization and all that is its: API keys, crawls that run and that have ended, with pages and findings, sites, usage, events,
idempotency keys. Nothing brings it back but a backup. It works beside running servers: from the beginning on the keys are refused
(within a second; open streams end within five), nothing starts, and workers let go of its crawls; then everything goes in small steps.

Without --confirm it removes nothing, and tells what it would. Cut off, it is completed by the same command, or by a worker within a minute
or so. Its name is free again when the command has ended.

The organization "default" cannot be removed, for each start of a server makes it where it is missing: revoke its keys instead.

Examples:
  crawlgate orgs delete acme                    what would go; exit code 2
  crawlgate orgs delete acme --confirm acme     removes it`;

/** `crawlgate orgs delete`. */
export function addOrgsDelete(orgs: Command, context: Context): void {
  orgs
    .command('delete')
    .description('remove an organization with everything that is its, for good')
    .argument('<organization>', 'name or id')
    .option('--confirm <name>', 'its name, exactly: proof that it is the one that is meant')
    .option('--json', 'print JSON', false)
    .addHelpText('after', HELP)
    .action((idOrName: string, { confirm, json }: Options) =>
      withStore(context, async (store) => {
        const { id, name } = await removableOf(store, idOrName);
        if (confirm === undefined) {
          printRecord(context, { id, name, ...(await previewOf(store, id)) }, json);
          throw new UsageError(`nothing was removed: to remove all of this for good, repeat the command with --confirm ${name}`);
        }
        if (confirm !== name) throw new UsageError(`nothing was removed: --confirm must be the name exactly, ${name}`);
        const underWay = await removalOf(store, id);
        if (underWay !== null)
          context.err.write(
            `the removal has been under way since ${timeOf(underWay.removedAt)}: pages and findings of crawls that are gone are not counted\n`,
          );
        const { stop } = context.listenForSignals();
        const counts = await countAll(store, id);
        const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
        const removal = await store.beginOrganizationRemoval(id);
        if (removal === null) throw noOrganization(idOrName); // another one has been faster
        const progress = await createRemovalProgress(context, total);
        try {
          await removeAll(store, id, progress, stop);
        } catch (error) {
          const why = stop.aborted ? 'stopped before the end' : error instanceof Error ? error.message : String(error);
          throw new Error(`${why}: ${JSON.stringify(name)} cannot be used any more; the same command goes on, and so does any worker`, {
            cause: error,
          });
        } finally {
          progress.end();
        }
        await printRemoved(context, removal, counts, json);
      }),
    );
}

type Removable = { readonly id: OrganizationId; readonly name: string };

/** An organization, or one whose removal has begun. Throws when there is none, and for the one that each start makes. */
async function removableOf(accounts: AccountStore, idOrName: string): Promise<Removable> {
  const found: Removable | null = (await accounts.findOrganization(idOrName)) ?? (await removalOf(accounts, idOrName));
  if (found === null) throw noOrganization(idOrName);
  if (found.id === DEFAULT_ORGANIZATION_ID)
    throw new UsageError(
      `the organization ${JSON.stringify(found.name)} cannot be removed, for the next start would make it again; to close it, revoke its keys: see \`crawlgate keys list\``,
    );
  return found;
}

async function previewOf(store: Store, id: OrganizationId): Promise<Record<string, number>> {
  const counted = (kind: CopyKind) => store.countCopies(kind, id);
  const running = await store.countCrawls(id, { state: 'running' }, Number.MAX_SAFE_INTEGER);
  return { crawls: await counted('crawl'), running, keys: await counted('key'), sites: await counted('site') };
}

async function countAll(store: Store, id: OrganizationId): Promise<Counts> {
  const counts = new Map<CopyKind, number>();
  for (const kind of COPY_KINDS) counts.set(kind, await store.countCopies(kind, id));
  return Object.fromEntries(counts) as Counts;
}

/** Pauses as long as it works, so that it takes half of the time of what writes the store at most. */
async function removeAll(store: Store, id: OrganizationId, progress: RemovalProgress, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const since = performance.now();
    const removed = await store.continueOrganizationRemoval(id);
    if (removed === 0) return;
    progress.add(removed);
    await delay(Math.max(LEAST_PAUSE_MS, performance.now() - since));
  }
}

async function printRemoved(context: Context, { id, name, removedAt }: OrganizationRemoval, counts: Counts, json: boolean): Promise<void> {
  const removed = COPY_KINDS.map((kind) => ({ kind: KIND_NAMES[kind], removed: counts[kind] }));
  if (json) {
    const byName = Object.fromEntries(removed.map((row) => [row.kind, row.removed]));
    return printRecord(context, { id, name, removedAt: timeOf(removedAt), removed: byName }, true);
  }
  const columns = [
    ['KIND', (row: (typeof removed)[number]) => row.kind],
    ['REMOVED', (row: (typeof removed)[number]) => row.removed],
  ] as const;
  await printRows(context, removed, columns, false);
}

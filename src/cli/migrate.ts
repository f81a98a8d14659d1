import type { Command } from 'commander';
import { readStorePlace, type StorePlace, WrongStoreUrl } from '#compose/store-place.ts';
import { createMigrate } from '#migration/migrate.ts';
import { type Context, UsageError } from './context.ts';
import { KIND_NAMES } from './kind-names.ts';
import { createProgress } from './migrate-progress.ts';
import { printRows } from './output.ts';

type Options = { readonly from: StorePlace; readonly to: StorePlace; readonly organization?: string | null; readonly json: boolean };

const HELP = `
Copies every organization, or one, with all that is theirs: API keys (as hashes: they stay valid), quota and usage, sites, crawls
with pages, links and findings, idempotency keys, events. Ids, versions and times stay, and with them cursors. A running crawl goes on
from its stored frontier when a worker of the target claims it. Not copied: cached robots.txt files, which are fetched again.

Stop every server on both stores first. A SQLite store is locked meanwhile; on MongoDB a running worker is noticed by its leases.

Nothing in the target is overwritten: a record that is there with other content ends the migration. A migration that was cut, however,
is completed by the same command. At the end the records of both stores are counted; exit code 1 when a count differs.

Examples:
  crawlgate migrate --from sqlite:data/crawlgate.db --to mongodb://db1,db2,db3/crawlgate?replicaSet=rs0
  crawlgate migrate --from sqlite:data/crawlgate.db --to mongodb://db1/crawlgate --organization acme`;

/** Not by commander's error for a wrong argument: it shows the argument, and with it a password. */
const placeOf =
  (flag: string) =>
  (text: string): StorePlace => {
    try {
      return readStorePlace(text);
    } catch (error) {
      throw error instanceof WrongStoreUrl ? new UsageError(`${flag} ${error.message}`) : error;
    }
  };

/** `crawlgate migrate`. */
export function addMigrate(program: Command, context: Context): void {
  program
    .command('migrate')
    .description('copy organizations, with everything that is theirs, from one store to another')
    .requiredOption('--from <store-url>', 'the store to copy from: sqlite:<path> or mongodb://…', placeOf('--from'))
    .requiredOption('--to <store-url>', 'the store to copy to', placeOf('--to'))
    .option('-o, --organization <organization>', 'name or id of the one to copy (default: all)')
    .option('--json', 'print the counts as JSON', false)
    .addHelpText('after', HELP)
    .action(async ({ from, to, organization = null, json }: Options) => {
      if (from.label === to.label) throw new UsageError(`--from and --to are the same store, ${from.label}`);
      const { stop } = context.listenForSignals();
      // Loaded here, for no other command needs both stores.
      const { openStores } = await import('#compose/open-stores.ts');
      const stores = await openStores(from, to).catch((error: unknown) => {
        throw error instanceof WrongStoreUrl ? new UsageError(error.message) : error;
      });
      const progress = await createProgress(context);
      try {
        const counts = await createMigrate(stores)({ organization, progress, signal: stop });
        progress.end();
        await printRows(
          context,
          counts.map(({ kind, source, target, different }) => ({
            kind: KIND_NAMES[kind],
            source,
            target,
            equal: different.length === 0,
            different,
          })),
          [
            ['KIND', (row) => row.kind],
            ['SOURCE', (row) => row.source],
            ['TARGET', (row) => row.target],
            ['EQUAL', (row) => (row.equal ? 'yes' : `no: ${row.different.join(', ')}`)],
          ],
          json,
        );
        const wrong = counts.filter(({ different }) => different.length > 0).map(({ kind }) => KIND_NAMES[kind]);
        if (wrong.length > 0)
          throw new Error(`the stores differ in their ${wrong.join(', ')}: was a server started on one of them meanwhile?`);
      } catch (error) {
        if (stop.aborted) throw new Error('stopped before the end; the same command goes on from there', { cause: error });
        throw error;
      } finally {
        progress.end();
        await stores.close();
      }
    });
}

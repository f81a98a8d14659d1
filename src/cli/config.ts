import type { Command } from 'commander';
import { CONFIG_TABLE } from '#config/config.ts';
import type { Context } from './context.ts';
import { printRows } from './output.ts';

/** `crawlgate config`: what can be set, not what is set. */
export function addConfig(program: Command, context: Context): void {
  program
    .command('config')
    .description('list the environment variables that the service reads')
    .option('--json', 'print JSON', false)
    .action(async ({ json }: { json: boolean }) => {
      const rows = CONFIG_TABLE.map(({ name, accepts, default: standard, unit = null, meaning }) => ({
        name,
        accepts,
        default: standard,
        unit,
        meaning,
      }));
      if (json) return printRows(context, rows, [], true);
      for (const row of rows) {
        context.out(`${row.name}\n  ${row.meaning}\n  accepted: ${row.accepts}\n`);
        context.out(`  default: ${row.default.replaceAll('`', '')}${row.unit === null ? '' : ` ${row.unit}`}\n\n`);
      }
    });
}

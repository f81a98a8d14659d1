import type { Command } from 'commander';
import { schemaText } from '#http/graphql/schema/schema.ts';
import type { Context } from './context.ts';

/** `crawlgate schema`. */
export function addSchema(program: Command, context: Context): void {
  program
    .command('schema')
    .description('print the GraphQL schema')
    .action(() => context.out(schemaText()));
}

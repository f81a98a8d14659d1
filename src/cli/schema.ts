import type { Command } from 'commander';
import type { Context } from './context.ts';

/** `crawlgate schema`. */
export function addSchema(program: Command, context: Context): void {
  program
    .command('schema')
    .description('print the GraphQL schema')
    .action(async () => {
      // Loaded here, for few other commands need GraphQL.
      const { schemaText } = await import('#http/graphql/schema/schema.ts');
      context.out(schemaText());
    });
}

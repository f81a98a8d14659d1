import type { Command } from 'commander';
import { baseUrlOf } from '#http/base-url.ts';
import type { Context } from './context.ts';

/** `crawlgate openapi`. */
export function addOpenapi(program: Command, context: Context): void {
  program
    .command('openapi')
    .description('print the OpenAPI document of the REST API')
    .action(async () => {
      const config = context.config();
      // Loaded here, for few other commands need the REST API.
      const { openApiText } = await import('#http/rest/openapi.ts');
      context.out(openApiText(config.publicUrl ?? baseUrlOf(config)));
    });
}

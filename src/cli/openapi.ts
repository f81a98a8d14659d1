import type { Command } from 'commander';
import { baseUrlOf } from '#http/base-url.ts';
import { openApiDocument } from '#http/rest/openapi.ts';
import type { Context } from './context.ts';

/** The document as it is kept in the repository; a running server names its own address instead. */
export const printOpenApi = (publicUrl: string): string => `${JSON.stringify(openApiDocument({ publicUrl }), null, 2)}\n`;

/** `crawlgate openapi`. */
export function addOpenapi(program: Command, context: Context): void {
  program
    .command('openapi')
    .description('print the OpenAPI document of the REST API')
    .action(() => {
      const config = context.config();
      context.out(printOpenApi(config.publicUrl ?? baseUrlOf(config)));
    });
}

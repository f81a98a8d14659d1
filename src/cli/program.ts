import { Command, CommanderError } from 'commander';
import { readVersion } from '#compose/version.ts';
import { ConfigError } from '#config/config.ts';
import { addConfig } from './config.ts';
import { type Context, UsageError } from './context.ts';
import { addCrawl } from './crawl.ts';
import { addKeys } from './keys.ts';
import { addMigrate } from './migrate.ts';
import { addOpenapi } from './openapi.ts';
import { addOrgs } from './orgs.ts';
import { addSchema } from './schema.ts';
import { addServe } from './serve.ts';

const EXAMPLES = `
Examples:
  crawlgate serve                                   start the service; the first start makes an API key
  crawlgate crawl https://example.com/              one crawl, without a server, and what is wrong with the site
  crawlgate orgs create acme --quota 50000          a tenant with its own keys, crawls and quota
  crawlgate keys create -o acme --name ci           a key for it; the secret is shown once
  crawlgate migrate --from sqlite:data/crawlgate.db --to mongodb://db1/crawlgate
                                                    move to a larger store
  crawlgate config                                  the environment variables that set everything

Exit codes: 0 done, 1 failed, 2 called or configured wrongly.`;

function createProgram(context: Context): Command {
  const program = new Command('crawlgate');
  program
    .description('A self-hosted crawl service: give it a start URL, poll or watch the crawl to its end, read the findings.')
    .version(readVersion())
    .exitOverride()
    .configureOutput({
      writeOut: context.out,
      writeErr: (text) => context.err.write(text),
      outputError: (text, write) =>
        write(
          `crawlgate: ${text
            .replace(/^error: /, '')
            .trim()
            .replace(/\s*\n\s*/g, ' ')}\n`,
        ),
    })
    .addHelpText('after', EXAMPLES);
  addServe(program, context);
  addCrawl(program, context);
  addOrgs(program, context);
  addKeys(program, context);
  addMigrate(program, context);
  addOpenapi(program, context);
  addSchema(program, context);
  addConfig(program, context);
  return program;
}

/** Runs the command that `words` (the arguments alone) name, and answers the exit code. What went wrong is one line on stderr. */
export async function runCommand(words: readonly string[], context: Context): Promise<number> {
  try {
    await createProgram(context).parseAsync(words, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has told what is wrong already, and shows help by the same way.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const message = error instanceof Error ? error.message : String(error);
    context.err.write(`crawlgate: ${message.replace(/\s*\n\s*/g, ' ')}\n`);
    return error instanceof ConfigError || error instanceof UsageError ? 2 : 1;
  }
}

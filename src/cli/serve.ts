import { type Command, Option } from 'commander';
import type { RunningService } from '#compose/run-service.ts';
import { readVersion } from '#compose/version.ts';
import { type Context, UsageError } from './context.ts';

const ROLES = ['all', 'gateway', 'worker'] as const;
type Role = (typeof ROLES)[number];

/** `crawlgate serve`: runs until a signal asks it to end. */
export function addServe(program: Command, context: Context): void {
  program
    .command('serve')
    .description('start the service; the first start makes the organization "default" and its API key')
    .addOption(new Option('--role <role>', 'which parts run in this process').choices(ROLES).default('all'))
    .action(async ({ role }: { role: Role }) => {
      const config = context.config();
      if (role !== 'all')
        throw new UsageError(
          `--role ${role} needs a store and a bus that processes can share, which this version does not have; use --role all`,
        );
      // Loaded here, for no other command needs what it brings.
      const { runService } = await import('#compose/run-service.ts');
      const { stop, cut } = context.listenForSignals();
      const service = await runService({ config, isTerminal: context.isTerminal, cut });
      context.out(`crawlgate ${readVersion()} is ready: ${service.url}\n${newsOf(service)}`);
      if (!stop.aborted) await new Promise((resolve) => stop.addEventListener('abort', resolve));
      await service.stop();
    });
}

/** What the first start has to tell; later ones nothing. */
function newsOf({ url, keyNews }: RunningService): string {
  switch (keyNews.kind) {
    case 'made':
      return `
  organization  default
  API key       ${keyNews.secret}   (shown this once)

Start a crawl:

  ${curlLine(url, keyNews.secret)}

`;
    case 'filed':
      return `The API key of the organization "default" is in ${keyNews.path}\n`;
    case 'configured':
      return 'The API key of the organization "default" is the value of CRAWLGATE_API_KEY\n';
    case 'known':
      return '';
  }
}

const curlLine = (url: string, secret: string): string =>
  `curl ${url}/v1/crawls -H 'Authorization: Bearer ${secret}' -H 'Content-Type: application/json' -d '{"url":"https://example.com/"}'`;

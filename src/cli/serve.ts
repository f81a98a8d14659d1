import { type Command, Option } from 'commander';
import type { RunningService } from '#compose/run-service.ts';
import { readVersion } from '#compose/version.ts';
import { ROLES, type Role } from '#config/config.ts';
import type { Context } from './context.ts';

/** `crawlgate serve`: runs until a signal asks it to end. */
export function addServe(program: Command, context: Context): void {
  program
    .command('serve')
    .description('start the service; the first start makes the organization "default" and its API key')
    .addOption(new Option('--role <role>', 'which parts run in this process (default: ROLE)').choices(ROLES))
    .action(async ({ role: given }: { role?: Role }) => {
      const config = context.config();
      const role = given ?? config.role;
      // Loaded here, for no other command needs what it brings.
      const { runService } = await import('#compose/run-service.ts');
      const { stop, cut } = context.listenForSignals();
      const service = await runService({ config, role, isTerminal: context.isTerminal, stopped: stop, cut }).catch((error: unknown) => {
        if (error === stop.reason) return null; // asked to end before it had started
        throw error;
      });
      if (service === null) return;
      context.out(`crawlgate ${readVersion()}${role === 'all' ? '' : ` (${role})`} is ready: ${service.url}\n${newsOf(service)}`);
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

import { type Command, InvalidArgumentError, Option } from 'commander';
import type { PrivateService } from '#compose/private-service.ts';
import { parseNetwork } from '#domain/address.ts';
import { Refusal } from '#domain/errors.ts';
import { SEVERITIES, type Severity } from '#domain/finding.ts';
import { isFinal, type Snapshot } from '#domain/snapshot.ts';
import { parseStartUrl } from '#domain/url.ts';
import { MOST_LIMIT } from '#service/list.ts';
import type { DescribedFinding } from '#service/list-findings.ts';
import { type Context, UsageError } from './context.ts';
import { type CrawlProgress, createCrawlProgress } from './crawl-progress.ts';
import { reportRecord, reportText } from './crawl-report.ts';

type Options = {
  readonly maxUrls?: number;
  readonly maxDepth?: number;
  readonly allowPrivate: boolean;
  readonly failOn?: Severity;
  readonly json: boolean;
};

/** This machine, and the networks of RFC 1918 and RFC 4193. Not link-local ones: clouds tell secrets there. */
const PRIVATE_NETWORKS = ['127.0.0.0/8', '::1/128', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'];

const HELP = `
Crawls by the same rules as the service, and needs none: nothing listens, and nothing is kept. The variables that begin with CRAWL_ hold
here, too. Ctrl-C ends the crawl and reports what was found by then; a second one gives up.

Exit code 1 when the crawl failed or, with --fail-on, when it found something; the report is printed all the same.

Examples:
  crawlgate crawl https://example.com/
  crawlgate crawl http://localhost:8000/ --allow-private --fail-on high      for a build
  crawlgate crawl https://example.com/ --max-urls 5000 --json > findings.json`;

function readCount(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

/** `crawlgate crawl`: one crawl from start to report, in this process. */
export function addCrawl(program: Command, context: Context): void {
  program
    .command('crawl')
    .description('crawl a site once, without a server, and report what is wrong with it')
    .argument('<url>', 'where to start, such as https://example.com/')
    .option('--max-urls <pages>', 'the most pages to fetch, up to 10000 (default: 500)', readCount)
    .option('--max-depth <links>', 'the most links away from the start (default: 3)', readCount)
    .option('--allow-private', 'this machine and private networks may be crawled, with no limit to the rate', false)
    .addOption(new Option('--fail-on <severity>', 'exit with 1 when a finding is as severe, or more').choices(SEVERITIES))
    .option('--json', 'print JSON', false)
    .addHelpText('after', HELP)
    .action(async (url: string, { maxUrls, maxDepth, allowPrivate, failOn, json }: Options) => {
      const { allowNetworks, ...rest } = context.config();
      const config = { ...rest, allowNetworks: allowPrivate ? [...allowNetworks, ...PRIVATE_NETWORKS] : allowNetworks };
      const { stop, cut } = context.listenForSignals();
      // Loaded here, for few other commands need what it brings.
      const { openPrivateService } = await import('#compose/private-service.ts');
      const opened = await openPrivateService({ config, cut });
      try {
        const final = await crawl(opened, { url, maxUrls, maxDepth }, { context, stop, cut }).catch((error: unknown) => {
          throw error instanceof Refusal && error.code === 'invalid_request'
            ? new UsageError(reasonsOf(error) + hintFor(url, config.allowNetworks))
            : error;
        });
        const findings = await allFindings(opened, final);
        context.out(json ? `${JSON.stringify(reportRecord(final, findings), null, 2)}\n` : reportText(final, findings));
        if (final.state === 'failed') throw new Error(`the crawl failed${final.endReason === 'address_not_allowed' ? HINT : ''}`);
        const grave =
          failOn === undefined ? [] : findings.filter(({ severity }) => SEVERITIES.indexOf(severity) <= SEVERITIES.indexOf(failOn));
        if (grave.length > 0) throw new Error(`of the findings, ${grave.length} are of severity ${failOn} or above`);
      } finally {
        await opened.close();
      }
    });
}

type Wanted = { readonly url: string; readonly maxUrls: number | undefined; readonly maxDepth: number | undefined };
type Run = { readonly context: Context; readonly stop: AbortSignal; readonly cut: AbortSignal };

/** Answers the final snapshot; `stop` cancels the crawl. Throws what `StartCrawl` does. */
async function crawl({ service, caller }: PrivateService, wanted: Wanted, { context, stop, cut }: Run): Promise<Snapshot> {
  const { snapshot: started } = await service.startCrawl(wanted, caller);
  const watch = await service.watchCrawl(started.id, caller);
  const cancel = (): void => void service.cancelCrawl(started.id, caller).catch(() => {}); // it has just ended by itself
  stop.addEventListener('abort', cancel);
  cut.addEventListener('abort', () => void watch.return());
  if (stop.aborted) cancel();
  const progress: CrawlProgress = await createCrawlProgress(context);
  try {
    let last = started;
    for await (last of watch) progress.tell(last);
    if (!isFinal(last)) throw new Error('given up before the end of the crawl');
    return last;
  } finally {
    progress.end();
    stop.removeEventListener('abort', cancel);
  }
}

const NAMES: Readonly<Record<string, string>> = { '/url': 'the URL', '/maxUrls': '--max-urls', '/maxDepth': '--max-depth' };

/** In the words of the command line. */
const reasonsOf = ({ message, facts: { errors = [] } }: Refusal): string =>
  errors.map((error) => `${('pointer' in error && NAMES[error.pointer]) || 'the call'} ${error.detail}`).join('; ') || message;

const HINT = '; --allow-private lets this machine and private networks be crawled';
/** When that would help. */
const hintFor = (url: string, allowed: readonly string[]): string => {
  const isRefused = (networks: readonly string[]): boolean => 'wrong' in parseStartUrl(url, networks.map(parseNetwork));
  return isRefused(allowed) && !isRefused(PRIVATE_NETWORKS) ? HINT : '';
};

async function allFindings({ service, caller }: PrivateService, { id }: Snapshot): Promise<DescribedFinding[]> {
  const findings: DescribedFinding[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const list = await service.listFindings(id, { limit: MOST_LIMIT, cursor }, caller);
    findings.push(...list.items);
    cursor = list.nextCursor;
  }
  return findings;
}

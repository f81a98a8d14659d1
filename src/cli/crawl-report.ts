import { SEVERITIES } from '#domain/finding.ts';
import { type Snapshot, urlsQueued } from '#domain/snapshot.ts';
import { renderFinding } from '#http/rest/render.ts';
import type { DescribedFinding } from '#service/list-findings.ts';
import { timeOf } from './output.ts';

/** Findings of one rule that people are shown; all are in the JSON. */
const MOST_SHOWN = 10;

/** What a crawl came to, for a program; names as in the API. */
export const reportRecord = (snapshot: Snapshot, findings: readonly DescribedFinding[]) => ({
  crawl: {
    url: snapshot.url,
    state: snapshot.state,
    endReason: snapshot.endReason,
    error: snapshot.error,
    urlsDiscovered: snapshot.counters.discovered,
    urlsCrawled: snapshot.counters.fetched,
    urlsRedirected: snapshot.counters.redirected,
    urlsFailed: snapshot.counters.failed,
    urlsBlocked: snapshot.counters.blocked,
    urlsQueued: urlsQueued(snapshot.counters),
    findingsCount: snapshot.findingsCount,
    startedAt: timeOf(snapshot.startedAt),
    finishedAt: timeOf(snapshot.finishedAt),
  },
  findings: findings.map(renderFinding),
});

/** The same for people: a summary, then the findings by rule, the gravest first. */
export function reportText(snapshot: Snapshot, findings: readonly DescribedFinding[]): string {
  const byRule = Map.groupBy(findings, ({ rule }) => rule);
  const gravest = [...byRule.values()].toSorted(([a], [b]) => gravity(a) - gravity(b));
  return [summary(snapshot, findings), ...gravest.map(ruleText)].join('\n');
}

const gravity = (finding: DescribedFinding | undefined): number => (finding === undefined ? 0 : SEVERITIES.indexOf(finding.severity));

function summary(
  { url, state, error, counters, startedAt, finishedAt, findingsCount }: Snapshot,
  findings: readonly DescribedFinding[],
): string {
  const seconds = (((finishedAt ?? startedAt) - startedAt) / 1_000).toFixed(1);
  const { fetched, redirected, failed, blocked } = counters;
  const counts = { crawled: fetched, redirected, 'without response': failed, blocked, 'not visited': urlsQueued(counters) };
  const told = Object.entries(counts).filter(([name, count]) => count > 0 || name === 'crawled');
  const found =
    findingsCount === null
      ? 'not analysed'
      : findingsCount === 0
        ? 'no findings'
        : `${counted(findingsCount, 'finding')} (${bySeverity(findings)})`;
  const how = error === null ? '' : `${printable(error)}\n`;
  return `${url} ${state} in ${seconds} s\n${how}pages: ${told.map(([name, count]) => `${count} ${name}`).join(', ')}; ${found}\n`;
}

function ruleText(findings: readonly DescribedFinding[]): string {
  const [first] = findings;
  if (first === undefined) return '';
  const { rule, severity, description } = first;
  const lines = [`${severity.toUpperCase()} ${rule}: ${counted(findings.length, 'finding')}`];
  if (description !== null) lines.push(`  ${description.title}. ${description.why}`, `  To do: ${description.fix}`);
  for (const finding of findings.slice(0, MOST_SHOWN)) lines.push(...findingLines(finding));
  if (findings.length > MOST_SHOWN) lines.push(`  - and ${findings.length - MOST_SHOWN} more, which --json prints`);
  return `${lines.join('\n')}\n`;
}

function findingLines({ url, evidence }: DescribedFinding): string[] {
  const told = Object.entries(evidence).filter(([, value]) => value !== null && value !== url);
  const lines = told.flatMap(([name, value]) =>
    Array.isArray(value)
      ? [`${words(name)}:`, ...value.map((each) => `  ${printable(each)}`)]
      : [`${words(name)}: ${printable(String(value))}`],
  );
  const [head, ...rest] = url === null ? lines : [printable(url), ...lines];
  return [`  - ${head ?? ''}`, ...rest.map((line) => `    ${line}`)];
}

const bySeverity = (findings: readonly DescribedFinding[]): string =>
  SEVERITIES.map((severity) => [findings.filter((finding) => finding.severity === severity).length, severity] as const)
    .filter(([count]) => count > 0)
    .map(([count, severity]) => `${count} ${severity}`)
    .join(', ');

/** `linkedFrom` as `linked from`. */
const words = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** What a site says must not steer the terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const printable = (text: string): string => text.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

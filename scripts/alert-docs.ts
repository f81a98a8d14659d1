import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export type Alert = {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: 'page' | 'ticket' };
  readonly annotations: { readonly summary: string; readonly description: string };
};

type Rules = { readonly groups: readonly { readonly rules: readonly Alert[] }[] };

/** The alerting rules of deploy/, in their order. */
export function readAlerts(): Alert[] {
  const rules = parse(readFileSync(new URL('../deploy/alerts.yml', import.meta.url), 'utf8')) as Rules;
  return rules.groups.flatMap((group) => group.rules);
}

const inTable = (text: string): string => text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|');
/** `{{ $labels.instance }}` as a reader understands it. */
const plain = (text: string): string => text.replaceAll(/\{\{ \$(?:labels\.)?(\w+)[^}]*\}\}/g, '*$1*');

/** docs/alerts.md, from the rules. */
export function alertsMarkdown(): string {
  const rows = readAlerts().map(
    ({ alert, expr, for: time, labels, annotations: { summary, description } }) =>
      `| **${alert}** (${labels.severity}) | ${plain(summary)} ${description} | \`${inTable(expr)}\`${time === undefined ? '' : ` for ${time}`} |`,
  );
  return `# Alerts

<!-- Generated from deploy/alerts.yml by \`npm run generate\`. -->

[deploy/alerts.yml](../deploy/alerts.yml) has these rules for Prometheus. Scrape every process by its own address, under the job \`crawlgate\`
([metrics.md](metrics.md)), and take the file in by \`rule_files\`. A page should wake somebody, a ticket can wait. What to do then is in
[operations.md](operations.md#what-each-failure-looks-like). For the databases take their own exporters: replication lag, members that are
not \`PRIMARY\` or \`SECONDARY\`, connections, disk.

| alert | what it means | expression |
|---|---|---|
${rows.join('\n')}
`;
}

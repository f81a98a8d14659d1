import { METRICS, type Metric } from './table.ts';

/** docs/metrics.md, from the table. */
export function metricsMarkdown(): string {
  const rows = Object.entries<Metric>(METRICS).map(
    ([name, { kind, help, labels }]) => `| \`${name}\` | ${kind} | ${labels.map((label) => `\`${label}\``).join(', ') || '–'} | ${help} |`,
  );
  return `# Metrics

<!-- Generated from src/metrics/table.ts by \`npm run generate\`. -->

\`GET /metrics\` answers the metrics of one process in Prometheus' text format. Scrape each process by its own address, not through a load
balancer. It takes a key with the scope \`metrics\`, which only the operator gives out:

\`\`\`sh
crawlgate keys create --name prometheus --scopes metrics
\`\`\`

\`\`\`yaml
scrape_configs:
  - job_name: crawlgate
    authorization: { credentials_file: /etc/prometheus/crawlgate-key }
    static_configs: [{ targets: ['127.0.0.1:4000'] }]
\`\`\`

- A scrape counts towards no limit of requests. While the store does not answer, a key that was admitted by this process within the last
  15 minutes is admitted still (so that a revoked one may read metrics for that long during an outage); another one gets 503.
- Every series has the label \`thread\`: \`main\`, \`crawler\` where crawls run, and \`store\` on SQLite. Aggregate with \`sum without (thread)\`.
  A thread that does not answer within a second is left out, and \`crawlgate_thread_up\` is 0 for it.
- No label has a value that a client or a site chooses: no organization, key, host, URL or crawl is named anywhere.
- What is about Redis or about running crawls is there in the processes that have to do with it. A process that has not called a store
  method, or not answered a route, has no series of it yet.

| metric | kind | labels | meaning |
|---|---|---|---|
${rows.join('\n')}
`;
}

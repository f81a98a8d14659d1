import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { METRICS, type Metric } from '#metrics/table.ts';
import { readAlerts } from '../scripts/alert-docs.ts';
import { freePort } from '../scripts/cluster/free-port.ts';
import { spawnProcess } from '../scripts/cluster/spawn.ts';
import { runCli, startServer, tempDataDir, tempDir } from './server-process.ts';

const RULES = fileURLToPath(new URL('../deploy/alerts.yml', import.meta.url));
const CASES = fileURLToPath(new URL('fixtures/alert-cases.yml', import.meta.url));
const ALERTS = readAlerts();

type Selector = { readonly metric: string; readonly labels: readonly string[]; readonly text: string };

/** What an expression reads, such as `up{job="crawlgate"}`. */
function selectorsOf(expr: string): Selector[] {
  return [...expr.matchAll(/([a-z_]+)\{([^}]*)\}/g)].map(([text, metric = '', matchers = '']) => ({
    metric: metric.replace(/_(bucket|count)$/, ''),
    labels: [...matchers.matchAll(/(\w+)=/g)].map(([, label = '']) => label),
    text,
  }));
}

describe('deploy/alerts.yml', () => {
  it('reads metrics and labels that there are', () => {
    const own = ALERTS.flatMap(({ expr }) => selectorsOf(expr)).filter(({ metric }) => metric !== 'up' && !metric.startsWith('node_'));
    expect(own.length).toBeGreaterThan(ALERTS.length / 2);
    for (const { metric, labels, text } of own) {
      const row: Metric | undefined = METRICS[metric as keyof typeof METRICS];
      expect([text, row]).toEqual([text, expect.anything()]);
      expect(['job', 'thread', ...(row?.labels ?? [])]).toEqual(expect.arrayContaining([...labels]));
    }
  });

  it('has a case that fires and one that must not for each alert', () => {
    const { tests } = parse(readFileSync(CASES, 'utf8')) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
    };
    const asked = tests.flatMap((test) => test.alert_rule_test);
    const names = (fires: boolean) =>
      new Set(asked.filter(({ exp_alerts }) => exp_alerts.length > 0 === fires).map(({ alertname }) => alertname));
    const all = new Set(ALERTS.map(({ alert }) => alert));
    expect([names(true), names(false)]).toEqual([all, all]);
  });

  if (spawnSync('prometheus', ['--version']).status === 0) testUnderPrometheus();
  else it.skip('under Prometheus (to run: install prometheus)', () => {});
});

function testUnderPrometheus(): void {
  it('fires in each case in which it should, in these words, and in no other', () => {
    using dir = tempDir();
    const rules = parse(readFileSync(RULES, 'utf8')) as { groups: { rules: { annotations: { description?: string } }[] }[] };
    for (const { annotations } of rules.groups.flatMap((group) => group.rules)) {
      expect(annotations.description).not.toContain('{{');
      delete annotations.description;
    }
    writeFileSync(join(dir.path, 'alerts.yml'), stringify(rules));
    writeFileSync(join(dir.path, 'cases.yml'), readFileSync(CASES));
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', join(dir.path, 'cases.yml')], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, expect.any(String)]);
    expect(stdout).toContain('SUCCESS');
  });

  it('is taken in by a Prometheus that scrapes a server as docs/metrics.md says, and tells when that server is gone', {
    timeout: 60_000,
  }, async () => {
    using data = tempDataDir();
    using dir = tempDir();
    await using server = await startServer(data.path);
    const { stdout } = await runCli(['keys', 'create', '--name', 'prometheus', '--scopes', 'metrics', '--json'], { DATA_DIR: data.path });
    writeFileSync(join(dir.path, 'key'), (JSON.parse(stdout) as { secret: string }).secret);
    const documented = readFileSync(new URL('../docs/metrics.md', import.meta.url), 'utf8').match(
      /```yaml\n(scrape_configs:[^`]*)```/,
    )?.[1];
    const scrape = documented
      ?.replace('/etc/prometheus/crawlgate-key', join(dir.path, 'key'))
      .replace('127.0.0.1:4000', new URL(server.url).host);
    // at once instead of after minutes
    writeFileSync(join(dir.path, 'alerts.yml'), readFileSync(RULES, 'utf8').replaceAll(/for: \d+m/g, 'for: 0m'));
    writeFileSync(
      join(dir.path, 'prometheus.yml'),
      `global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }\nrule_files: [alerts.yml]\n${scrape}`,
    );
    await using prometheus = await startPrometheus(dir.path);

    await prometheus.until('count(up{job="crawlgate"} == 1)', '1');
    // what only happens when something is wrong, and what needs Redis or node_exporter
    const absent = /5xx|unavailable|crawlgate_bus_|node_|commitPages/;
    for (const { text } of ALERTS.flatMap(({ expr }) => selectorsOf(expr)))
      if (!absent.test(text)) await prometheus.until(`count(${text}) > bool 0`, '1');
    await prometheus.until('count(ALERTS{alertstate="firing"}) or vector(0)', '0');

    server.kill('SIGKILL');
    await prometheus.until('count(ALERTS{alertname="CrawlgateDown",alertstate="firing"})', '1');
    expect(await prometheus.brokenRules()).toEqual([]);
  });
}

type Prometheus = {
  /** Resolves when the query answers this one value. */
  until(query: string, wanted: string): Promise<void>;
  /** The rules that could not be evaluated. */
  brokenRules(): Promise<string[]>;
  [Symbol.asyncDispose](): Promise<void>;
};

async function startPrometheus(dir: string): Promise<Prometheus> {
  const address = `127.0.0.1:${await freePort()}`;
  mkdirSync(join(dir, 'tsdb'));
  const files = [`--config.file=${join(dir, 'prometheus.yml')}`, `--storage.tsdb.path=${join(dir, 'tsdb')}`];
  const spawned = spawnProcess(['prometheus', ...files, `--web.listen-address=${address}`], {
    environment: { PATH: process.env.PATH ?? '' },
  });
  await spawned.says(/Server is ready to receive web requests/);

  async function ask<Answer>(path: string): Promise<Answer> {
    const answer = (await (await fetch(`http://${address}/api/v1/${path}`)).json()) as { status: string; data: Answer };
    expect(answer.status).toBe('success');
    return answer.data;
  }
  return {
    async until(query, wanted) {
      const path = `query?query=${encodeURIComponent(query)}`;
      for (;;) {
        const { result } = await ask<{ result: { value: [number, string] }[] }>(path);
        if (result[0]?.value[1] === wanted) return;
        await delay(100);
      }
    },
    async brokenRules() {
      const { groups } = await ask<{ groups: { rules: { name: string; health: string }[] }[] }>('rules');
      return groups.flatMap(({ rules }) => rules.filter(({ health }) => health !== 'ok').map(({ name }) => name));
    },
    async [Symbol.asyncDispose]() {
      spawned.kill('SIGKILL');
      await spawned.ended;
    },
  };
}

/** Runs the benches. Times never make it fail, wrong work does. */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { crawl } from './crawl.ts';
import { detail } from './detail.ts';
import { gateways } from './gateways.ts';
import { graphql } from './graphql.ts';
import { latency } from './latency.ts';
import { type Bench, machine, markdownOf, printReport } from './lib/report.ts';
import { list } from './list.ts';
import { starts } from './starts.ts';
import { updates } from './updates.ts';
import { workers } from './workers.ts';

const BENCHES: Readonly<Record<string, Bench>> = { crawl, detail, list, starts, graphql, updates, latency, workers, gateways };
const RESULTS = fileURLToPath(new URL('./results.md', import.meta.url));
const INTRODUCTION = `# Results

\`npm run bench -- --write\` measures anew and replaces the sections of the benches that ran; \`npm run bench -- crawl\` runs one. Each
bench runs crawlgate and its baseline in turn on one machine; what counts is the ratio, since the machines are shared.`;

const USAGE = `usage: node bench/run.ts [BENCH …] [--smoke] [--rounds N] [--write]

Each bench measures crawlgate beside a bare baseline in the same run and tells the ratio. Without a name all of them run:
${Object.keys(BENCHES).join(', ')}.

  --smoke     little work of each, once: whether they run
  --rounds N  interleaved rounds, of which the medians are told (5)
  --write     replaces the sections of bench/results.md
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: 'boolean', short: 'h', default: false },
    smoke: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '5' },
    write: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(USAGE);
  process.exit();
}
const rounds = Number(values.rounds);
if (!Number.isSafeInteger(rounds) || rounds < 1) throw new RangeError('--rounds takes a whole number, 1 or more');
if (values.smoke && values.write) throw new RangeError('--smoke measures nothing that could be written');

/** The sections of results.md by bench. */
async function readSections(): Promise<Map<string, string>> {
  const text = await readFile(RESULTS, 'utf8').catch(() => '');
  const sections = text.split(/^(?=## )/m).slice(1);
  return new Map(sections.map((section) => [section.slice(3, section.indexOf('\n')).trim(), section.trim()]));
}

console.log(machine());
const written = await readSections();
for (const name of positionals.length > 0 ? positionals : Object.keys(BENCHES)) {
  const bench = BENCHES[name];
  if (bench === undefined) throw new RangeError(`there is no bench "${name}"; there are: ${Object.keys(BENCHES).join(', ')}`);
  const report = await bench({ smoke: values.smoke, rounds });
  printReport(report);
  written.set(name, markdownOf(report, new Date()));
}
if (values.write) {
  const sections = Object.keys(BENCHES).flatMap((name) => written.get(name) ?? []);
  await writeFile(RESULTS, `${[INTRODUCTION, ...sections].join('\n\n')}\n`);
}

// What one page, one crawl, one idle worker, one watcher and one update cost in bytes, commands, processor time and memory: the figures
// that docs/scaling.md calculates with. Needs nginx, redis-server with redis-benchmark, Debian's python3-doc, and MONGODB_TEST_URL or a JDK.
// usage: node bench/unit-costs.ts [--smoke] [--write]   --write: replaces bench/unit-costs.md
import { writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { machine } from './lib/report.ts';
import { type Cost, markdownOfCosts } from './unit-costs/cost.ts';
import { gatewayCosts } from './unit-costs/gateway.ts';
import { redisCosts } from './unit-costs/redis.ts';
import { sqliteCosts } from './unit-costs/sqlite.ts';
import { workerCosts } from './unit-costs/worker.ts';

const { values } = parseArgs({ options: { smoke: { type: 'boolean', default: false }, write: { type: 'boolean', default: false } } });
const { smoke } = values;
if (smoke && values.write) throw new RangeError('--smoke measures nothing that could be written');

const load = (): string => loadavg()[0]?.toFixed(1) ?? '';
const before = load();
const costs: Cost[] = [];
for (const measure of [sqliteCosts, workerCosts, gatewayCosts, redisCosts]) costs.push(...(await measure(smoke)));
const date = new Date().toISOString().slice(0, 10);
const text = `# Unit costs

\`node bench/unit-costs.ts --write\` measures anew. Measured on ${date}: ${machine()}; load average ${before} before and ${load()} after.

${markdownOfCosts(costs)}`;
console.log(text);
if (values.write) await writeFile(fileURLToPath(new URL('./unit-costs.md', import.meta.url)), text);

import { readFileSync, writeFileSync } from 'node:fs';
import { GENERATED } from './generated.ts';

// `npm run generate` writes the generated files; with `--check` it only compares them, and fails naming the stale ones.
const root = new URL('../', import.meta.url);
const stale: string[] = [];
for (const [path, print] of Object.entries(GENERATED)) {
  const url = new URL(path, root);
  if (!process.argv.includes('--check')) writeFileSync(url, print());
  else if (readFileSync(url, 'utf8') !== print()) stale.push(path);
}
if (stale.length > 0) {
  process.stderr.write(`stale: ${stale.join(', ')}; run \`npm run generate\`\n`);
  process.exitCode = 1;
}

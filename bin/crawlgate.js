#!/usr/bin/env -S node --max-semi-space-size=4
// Plain JavaScript that an old Node can read too, so that it can say what is wrong.
const needed = 24;
if (Number.parseInt(process.versions.node, 10) < needed) {
  process.stderr.write(`crawlgate: needs Node ${needed} or newer, and this is Node ${process.versions.node}\n`);
  process.exitCode = 2;
} else {
  void import('../src/main.ts');
}

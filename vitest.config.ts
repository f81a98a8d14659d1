import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { createSkipReporter } from './test/skip-reporter.ts';

export default defineConfig({
  // As Node resolves packages: without the condition `development`, by which tests would get another copy of graphql than its users.
  ssr: { resolve: { conditions: ['node', 'module-sync'], externalConditions: ['node', 'module-sync'] } },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    retry: 0,
    reporters: ['default', createSkipReporter((text) => process.stdout.write(text))],
    // Many tests wait for processes, leases and clocks more than they compute: two at once also on two cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // V8 can crash while it replaces the wrappers of WebAssembly, by which Node strips types, as threads come and go (docs/decisions.md).
    execArgv: ['--wasm-wrapper-tiering-budget=1000000000'],
    // Against what hangs; none is for how fast something is. A machine with other work takes several times as long as an idle one.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
  },
});

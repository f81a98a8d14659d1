import { defineConfig } from 'vitest/config';

export default defineConfig({
  // As Node resolves packages: without the condition `development`, by which tests would get another copy of graphql than its users.
  ssr: { resolve: { conditions: ['node', 'module-sync'], externalConditions: ['node', 'module-sync'] } },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    retry: 0,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});

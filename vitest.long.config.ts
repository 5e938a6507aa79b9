import { defineConfig } from 'vitest/config'
import { usual } from './vitest.config.ts'

/** The tests of `npm run test:long`: files named `*.long.test.ts`. */
export default defineConfig({
  ...usual,
  test: {
    ...usual.test,
    include: ['src/**/*.long.test.ts', 'test/**/*.long.test.ts'],
    exclude: ['**/node_modules/**'],
    // One after the other: they fill a small machine by themselves, and some of them measure it.
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 120_000,
  },
})

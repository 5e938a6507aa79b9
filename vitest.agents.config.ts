import { defineConfig } from 'vitest/config'
import { usual } from './vitest.config.ts'

/** The tests of `npm run test:agents`: every agent, also those that take long (`*.matrix.test.ts`), and a table of the results. */
export default defineConfig({
  ...usual,
  test: {
    ...usual.test,
    include: ['test/agents/{acp,claude,codex,copilot,gemini,killed,opencode,scripted}*.test.ts'],
    exclude: ['**/node_modules/**'],
    testTimeout: 300_000,
    hookTimeout: 120_000,
    reporters: ['default', './scripts/agents-matrix-reporter.ts'],
  },
})

import { defineConfig } from 'vitest/config'

// `import 'nerve'` in a test means the sources, not a build: the same condition that Node gets on its command line.
const source = ['nerve-source']

export default defineConfig({
  resolve: { conditions: [...source, 'node', 'import', 'default'] },
  ssr: { resolve: { conditions: [...source, 'node', 'import', 'default'] } },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'scripts/**/*.test.ts'],
    // What takes long, or needs much of the system: vitest.long.config.ts and vitest.agents.config.ts.
    exclude: ['**/*.long.test.ts', '**/*.matrix.test.ts', '**/node_modules/**'],
    // Processes, not threads: tests signal, kill and chdir, and node:sqlite is native code.
    pool: 'forks',
    maxWorkers: 2,
    execArgv: source.map((condition) => `--conditions=${condition}`),
    testTimeout: 30_000,
    hookTimeout: 30_000,
    passWithNoTests: false,
    reporters: ['default', './scripts/closing-line-reporter.ts'],
  },
})

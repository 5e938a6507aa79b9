import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './scripts/longest-first.ts'

// `import 'nerve'` in a test means the sources, not a build: the same condition that Node gets on its command line.
const source = ['nerve-source']
const conditions = [...source, 'node', 'import', 'default']

// What takes long, or needs much of the system: vitest.long.config.ts and vitest.agents.config.ts.
const elsewhere = ['**/*.long.test.ts', '**/*.matrix.test.ts', '**/node_modules/**']

/** Start the built package, or programs that are built with it (test/built.ts). */
const built = ['test/{agents,cli,crash,daemon,docs,mcp}/**/*.test.ts']

/** Leave nothing behind in their process, so that a worker may go on to the next file: loading Nerve again takes longer than most of them. */
const together = [
  'src/{base,define,gateway,host,journal,projections}/**/*.test.ts',
  'test/{gateway,properties}/**/*.test.ts',
  // These two look at what reaches the process itself.
  'test/behaviour/**/!(failures|session-terminal).test.ts',
]

/** What holds for all tests. */
export const usual = {
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    // Processes, not threads: tests signal, kill and chdir, and node:sqlite is native code.
    pool: 'forks' as const,
    // One more than the cores of a small machine: many tests wait for processes.
    maxWorkers: 3,
    execArgv: source.map((condition) => `--conditions=${condition}`),
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // What comes within a second here may take longer on a machine that is busy, and comes all the same.
    expect: { poll: { timeout: 15_000 } },
    passWithNoTests: false,
    // What belongs to a person stays as it is.
    env: { XDG_STATE_HOME: join(import.meta.dirname, 'coverage', 'state') },
    globalSetup: ['test/built-package.ts'],
    reporters: ['default', './scripts/closing-line-reporter.ts'],
  },
}

const { globalSetup, ...settings } = usual.test

export default defineConfig({
  ...usual,
  test: {
    ...settings,
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { name: 'built', globalSetup, include: built, exclude: elsewhere } },
      { extends: true, test: { name: 'together', isolate: false, include: together, exclude: elsewhere } },
      {
        extends: true,
        test: {
          name: 'alone',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'scripts/**/*.test.ts'],
          exclude: [...elsewhere, ...built, ...together],
        },
      },
    ],
  },
})

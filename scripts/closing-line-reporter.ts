/**
 * The last line of `npm test`: `N passed, N failed`, plus `, N skipped` when there are some, alone on a line.
 * A file that cannot be loaded and an error outside any test count as a failure each; a run in which nothing ran fails.
 */
import type { Reporter, TestModule } from 'vitest/node'

export type Counts = { passed: number; failed: number; skipped: number }

export function closingLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed` + (skipped > 0 ? `, ${skipped} skipped` : '')
}

function count(modules: readonly TestModule[], errorsOutsideTests: number): Counts {
  const counts: Counts = { passed: 0, failed: errorsOutsideTests, skipped: 0 }
  for (const module of modules) {
    const failedBefore = counts.failed
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      // A test still pending at the end never got to report: its file broke down or the run was stopped.
      counts[state === 'pending' ? 'failed' : state] += 1
    }
    if (!module.ok() && counts.failed === failedBefore) counts.failed += 1
  }
  return counts
}

export default class ClosingLineReporter implements Reporter {
  #counts: Counts = { passed: 0, failed: 0, skipped: 0 }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    this.#counts = count(modules, unhandledErrors.length)
    if (this.#counts.passed + this.#counts.failed === 0) process.exitCode = 1
    // After the other reporters' summaries, which are written later in the same turn.
    process.once('exit', () => process.stdout.write(`\n${closingLine(this.#counts)}\n`))
  }
}

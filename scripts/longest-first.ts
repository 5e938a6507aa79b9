/** The order of the test files: what takes longest first, so that no worker is left alone with it at the end. */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Longer than all others, whatever is known of earlier runs: a fresh checkout knows nothing. */
const LONG = [
  'test/crash/matrix.test.ts',
  'test/docs/code-blocks.test.ts',
  'test/terminal/many.test.ts',
  'test/claude-terminal/turns.test.ts',
  'test/agents/',
  'test/claude-terminal/',
  'test/cli/',
]

function place({ moduleId }: TestSpecification): number {
  const found = LONG.findIndex((part) => moduleId.replaceAll('\\', '/').includes(`/${part}`))
  return found === -1 ? LONG.length : found
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.toSorted((one, other) => place(one) - place(other))
  }
}

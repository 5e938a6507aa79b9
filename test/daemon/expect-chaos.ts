import { expect } from 'vitest'
import { expectedSum } from './adding.ts'
import type { ChaosOptions, ChaosReport } from './chaos.ts'

/** Every run has its right result, no step was counted twice, and every client got every event once and in order. */
export function expectChaos(report: ChaosReport, { runs, steps, kills }: ChaosOptions): void {
  expect(report.unfinished).toHaveLength(kills)
  // Each time there was something to lose, and not only what waits.
  expect(report.unfinished.filter((one) => one.runs === 0)).toEqual([])
  if (kills > 0) expect(Math.max(...report.unfinished.map(({ atWork }) => atWork))).toBeGreaterThan(0)
  expect(report.outputs).toEqual(Array.from({ length: runs }, () => expectedSum(steps)))
  for (const [run, entries] of report.journals) {
    expect({ run, seqs: entries.map(({ seq }) => seq) }).toEqual({ run, seqs: entries.map((_, at) => at + 1) })
    const completed = entries.filter(({ type }) => type === 'step-completed').map(({ path }) => path)
    expect({ run, twice: completed.length - new Set(completed).size }).toEqual({ run, twice: 0 })
  }
  for (const { name, expectRight, visits } of report.clients) {
    expect({ name, cameBack: visits() > 0 }).toEqual({ name, cameBack: true })
    expectRight(report.journals)
  }
}

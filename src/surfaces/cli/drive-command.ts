/** Commands that ask something of a recorded run, and drive it on when nobody else does. */
import type { Host, RunRow } from '../../host/api.ts'
import { Driver } from './driver.ts'
import { report, type Outcome } from './outcome.ts'
import type { Output } from './output.ts'

/** Performs `work` on the tree of a run; `after` is the run to drive then (default: the same). */
export async function driveRecorded(
  host: Host,
  out: Output,
  row: RunRow,
  work: () => Promise<string | undefined>,
): Promise<number> {
  const driver = await Driver.open(host, out)
  let outcome: Outcome
  try {
    await driver.past(row.root)
    const run = (await work()) ?? row.root
    if (run !== row.root) await driver.past(run)
    const now = await host.run(run)
    outcome =
      now.owner === host.id || driver.heard(run)
        ? await driver.until(await host.handle(run))
        : { row: now, driven: false, questions: [], signals: [] }
  } finally {
    driver.close()
  }
  return report(out, outcome)
}

/** Commands that ask something of a recorded run: the daemon drives it on, or this process does when nobody else does. */
import { NerveError } from '../../base/nerve-error.ts'
import type { Host, RunRow } from '../../host/api.ts'
import { Driver } from './driver.ts'
import { report, type Outcome } from './outcome.ts'
import type { Output } from './output.ts'
import { Prints } from './prints.ts'
import { isDaemon, type RunHost } from './run-host.ts'
import { watchRun, type WatchOptions } from './watched-run.ts'

/** Performs `work` on the tree of a run, and shows it then. */
export async function driveRecorded(
  host: RunHost,
  out: Output,
  row: RunRow,
  work: () => Promise<unknown>,
): Promise<number> {
  const drive = async (): Promise<string> => {
    await work()
    return row.root
  }
  if (!isDaemon(host)) return driveHere(host as Host, out, drive, row.root)
  const past = new Map<string, number>()
  for (const { run } of await host.runs({ root: row.root, children: true }))
    past.set(run, (await host.journal(run)).at(-1)?.seq ?? 0)
  const prints = await Prints.open(host)
  return watchOwn(host, out, await host.run(await drive()), { past, prints })
}

/** Performs `work`, which makes a run, and shows that one. */
export async function driveNew(host: RunHost, out: Output, work: () => Promise<string>): Promise<number> {
  if (!isDaemon(host)) return driveHere(host as Host, out, work)
  const prints = await Prints.open(host)
  return watchOwn(host, out, await host.run(await work()), { prints })
}

/** A run that this command has set going in the daemon. */
export async function watchOwn(
  host: RunHost,
  out: Output,
  row: RunRow,
  options: Pick<WatchOptions, 'yes' | 'past' | 'prints' | 'onOutcome'> = {},
): Promise<number> {
  const code = await watchRun(host, out, row, { ...options, whose: 'own', until: 'rest' })
  if (code !== undefined) return code
  throw new NerveError('ownership-lost', `Run ${row.run} is not driven by the daemon.`)
}

async function driveHere(host: Host, out: Output, work: () => Promise<string>, known?: string): Promise<number> {
  const driver = await Driver.open(host, out)
  let outcome: Outcome
  try {
    if (known !== undefined) await driver.past(known)
    const run = await work()
    if (run !== known) await driver.past(run)
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

/** `nerve resume`. */
import { setTimeout as delay } from 'node:timers/promises'
import { isNerveError } from '../../../base/nerve-error.ts'
import type { Host, ResumeOptions, RunRow } from '../../../host/api.ts'
import type { ResumePlan } from '../../../journal/events.ts'
import { asCalled } from '../as-called.ts'
import type { Invocation } from '../dispatch.ts'
import { driveRecorded } from '../drive-command.ts'
import { Driver } from '../driver.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import type { Output } from '../output.ts'
import { codeOf, planLines, report, resultData, resultLines, type Outcome } from '../outcome.ts'
import { forDriving, me, withRun, withRuns } from '../project.ts'
import { isDaemon, type RunHost } from '../run-host.ts'
import { parseBudget } from '../values.ts'

export async function run(invocation: Invocation): Promise<number> {
  const { args, dir, out } = invocation
  const [wanted] = args.words
  checkOptions(invocation)
  if (wanted === undefined) return resumeAll(invocation)
  return withRun(
    dir,
    wanted,
    (host, row) => (args.flag('plan') ? showPlan(invocation, host, row) : resumeOne(invocation, host, row)),
    forDriving(out),
  )
}

function checkOptions({ args }: Invocation): void {
  const [wanted] = args.words
  const ways = ['plan', 'accept', 'from'].filter((name) => args.flag(name))
  if (wanted === undefined && !args.flag('all'))
    throw new UsageError('nerve resume: which run? Give RUN, or --all for everything that was left.')
  if (args.flag('all') && (wanted !== undefined || ways.length > 0 || args.flag('budget')))
    throw new UsageError('nerve resume: --all stands alone.')
  if (ways.length > 1)
    throw new UsageError(`nerve resume: give one of ${ways.map((name) => `--${name}`).join(' and ')}.`)
}

async function showPlan({ out }: Invocation, host: RunHost, row: RunRow): Promise<number> {
  const plan = await host.plan(row.root)
  out.data({ run: row.root, ...plan })
  out.line(`${row.definition}  ${row.root}  ${row.status}`)
  for (const line of planLines(plan)) out.line(line)
  const fits = plan.rerun.length === 0 && plan.unknown.length === 0
  const { ended } = await host.run(row.root)
  if (fits) out.line('The code does what is recorded.')
  else if (ended === undefined) out.line(`Go on with: ${asCalled(`nerve resume ${row.root} --accept`)}, or --from PATH`)
  else out.line(`The run has ended. A new one from one of its steps: ${asCalled(`nerve fork ${row.root} --at PATH`)}`)
  return EXIT.done
}

async function resumeOne({ args, out }: Invocation, host: RunHost, row: RunRow): Promise<number> {
  const from = args.text('from')
  const budget = args.text('budget')
  const options: ResumeOptions = {
    ...me(),
    ...(args.flag('accept') ? { accept: true } : {}),
    ...(from === undefined ? {} : { from }),
    ...(budget === undefined ? {} : { budget: parseBudget(budget) }),
  }
  try {
    return await driveRecorded(host, out, row, async () => (await host.handle(row.run)).resume(options))
  } catch (error) {
    if (!isNerveError(error, 'diverged')) throw error
    const plan = error.data['plan'] as ResumePlan
    return report(out, { row: await host.run(row.root), driven: true, questions: [], signals: [], plan })
  }
}

/** Drives on everything that a dead process left. What waits for a person or was paused stays as it is. */
async function resumeAll({ out, dir }: Invocation): Promise<number> {
  return withRuns(
    dir,
    async (there) => {
      if (isDaemon(there)) return takenUp(there, out)
      const host = there as Host
      const driver = await Driver.open(host, out)
      const outcomes: Outcome[] = []
      let left: readonly { readonly run: string; readonly reason: string }[] = []
      try {
        const recovered = await host.recover()
        left = recovered.left
        for (const run of recovered.recovered) await driver.past(run)
        outcomes.push(
          ...(await Promise.all(recovered.recovered.map(async (run) => driver.until(await host.handle(run))))),
        )
      } finally {
        driver.close()
      }
      for (const outcome of outcomes) {
        if (out.json) out.data(resultData(outcome, out.verbose))
        else for (const line of resultLines(out, outcome, Date.now())) out.line(line)
      }
      if (outcomes.length + left.length === 0) nothing()
      tellLeft(out, left)
      return worst([...outcomes.map(codeOf), ...(left.length > 0 ? [EXIT.failed] : [])])
    },
    nothing,
    forDriving(out),
  )

  function nothing(): number {
    out.line('Nothing was left behind.')
    return EXIT.done
  }
}

/** How long a daemon that may have just started is waited for: it may have much to take up. */
const TAKE_MS = 5_000
const LOOK_MS = 200

/** A daemon takes up everything by itself, unless it cannot. */
async function takenUp(host: RunHost, out: Output): Promise<number> {
  const look = (): Promise<RunRow[]> => host.runs({ status: ['queued', 'running', 'crashed'] })
  const deadline = performance.now() + TAKE_MS
  let rows = await look()
  while (rows.some(({ owner }) => owner === undefined) && performance.now() < deadline) {
    await delay(LOOK_MS)
    rows = await look()
  }
  const [driven, left] = [
    rows.filter(({ owner }) => owner !== undefined),
    rows.filter(({ owner }) => owner === undefined),
  ]
  for (const { run: id, definition, status } of driven) {
    out.data({ type: 'driven', run: id, definition, status })
    out.line(`${definition}  ${id}  ${status}`)
  }
  if (driven.length > 0) out.line('The daemon drives them: nerve attach RUN')
  if (rows.length === 0) out.line('Nothing was left behind.')
  tellLeft(
    out,
    left.map(({ run: id }) => ({
      run: id,
      reason: `The daemon could not take it up. Why: nerve server logs, or nerve resume ${id}`,
    })),
  )
  return left.length > 0 ? EXIT.failed : EXIT.done
}

function tellLeft(out: Output, left: readonly { readonly run: string; readonly reason: string }[]): void {
  for (const one of left) {
    out.data({ type: 'left', ...one })
    out.line(`${out.tone('left', 'bad')}  ${one.run}  ${one.reason}`)
  }
}

const GRAVITY: readonly number[] = [EXIT.failed, EXIT.exhausted, EXIT.waiting, EXIT.cancelled]

function worst(codes: readonly number[]): number {
  return GRAVITY.find((code) => codes.includes(code)) ?? EXIT.done
}

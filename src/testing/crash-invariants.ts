/** What must hold after a crash, whatever was killed when. Each check gives sentences; none is the good case. */
import { isEnded, type Entry } from '../journal/events.ts'
import { foldAll, statusOf } from '../journal/fold.ts'
import { headOf } from '../journal/head.ts'
import type { CrashReport, SeenAck, SeenRun } from './crash-harness.ts'

const ENDS: readonly string[] = ['run-completed', 'run-failed', 'run-cancelled']

/** Everything that is wrong with how a run went through its crashes. */
export function crashProblems(report: CrashReport): string[] {
  const last = report.journals.at(-1) ?? []
  return [
    ...processProblems(report),
    ...report.journals.flatMap((runs) => runs.flatMap(sequenceProblems)),
    ...lostProblems(report),
    ...repeatedProblems(report),
    ...ackProblems(last, report.acks),
    ...report.journals.flatMap((runs) => runs.flatMap(statusProblems)),
    ...orphanProblems(last),
    ...last.flatMap(endProblems),
  ]
}

function processProblems(report: CrashReport): string[] {
  const last = report.processes.at(-1)
  if (last === undefined || (last.code === 0 && !last.killed)) return []
  return [`the last process ended with ${last.code}: ${last.errors}`]
}

/** Sequence numbers are 1, 2, 3 and so on. */
function sequenceProblems({ head, entries }: SeenRun): string[] {
  const wrong = entries.findIndex((entry, index) => entry.seq !== index + 1)
  if (wrong !== -1) return [`run ${head.run} has event ${entries[wrong]?.seq} where ${wrong + 1} belongs`]
  return entries[0]?.event.type === 'run-created' ? [] : [`run ${head.run} does not begin with run-created`]
}

/** The end of a run is the last that its journal says. */
function endProblems({ head, entries }: SeenRun): string[] {
  const end = entries.findIndex(({ event }) => ENDS.includes(event.type))
  const after = entries.slice(end + 1).map(({ event }) => event.type)
  return end === -1 || after.length === 0 ? [] : [`run ${head.run} had ended, and then had ${after.join(', ')}`]
}

/** What was in a journal once is in it for ever. */
function lostProblems(report: CrashReport): string[] {
  const problems: string[] = []
  for (const [index, runs] of report.journals.entries()) {
    const next = report.journals[index + 1]
    if (next === undefined) continue
    for (const { head, entries } of runs) {
      const later = next.find((one) => one.head.run === head.run)?.entries ?? []
      const lost = entries.find((entry, at) => JSON.stringify(entry) !== JSON.stringify(later[at]))
      if (lost !== undefined)
        problems.push(`run ${head.run} lost or changed its event ${lost.seq} (${lost.event.type})`)
    }
  }
  return problems
}

/** A completed step is never executed again; one that was in flight may be, unless it said `once`. */
function repeatedProblems(report: CrashReport): string[] {
  const problems: string[] = []
  const seen = new Map<string, number>()
  const last = new Map((report.journals.at(-1) ?? []).map((one) => [one.head.run, one.entries]))
  for (const { by, run, path, attempt } of report.effects) {
    const before = report.journals[by - 1]?.find((one) => one.head.run === run)
    if (before?.entries.some((entry) => isDone(entry, path)) === true)
      problems.push(`${run}/${path} had completed and was executed again by process ${by + 1}`)
    const name = `${run}/${path} attempt ${attempt}`
    if (seen.get(name) === by) problems.push(`${name} was executed twice by process ${by + 1}`)
    if (seen.has(name) && isOnce(last.get(run) ?? [], path))
      problems.push(`${name} must run once, and was executed again by process ${by + 1}`)
    seen.set(name, by)
  }
  return problems
}

function isDone({ event }: Entry, path: string): boolean {
  return (event.type === 'step-completed' || event.type === 'step-skipped') && event.path === path
}

function isOnce(entries: readonly Entry[], path: string): boolean {
  return entries.some(({ event }) => event.type === 'step-started' && event.path === path && event.effect === 'once')
}

/** Whoever was told of an event finds it in the journal. */
function ackProblems(runs: readonly SeenRun[], acks: readonly SeenAck[]): string[] {
  const events = new Map(runs.map(({ head, entries }) => [head.run, entries.map(({ event }) => event)]))
  const lost = acks.filter(({ run, ...known }) => !events.get(run)?.some((event) => fits(event, known)))
  return lost.map((ack) => `acknowledged and lost: ${JSON.stringify(ack)}`)
}

function fits(event: object, known: Readonly<Record<string, unknown>>): boolean {
  const fields = event as Readonly<Record<string, unknown>>
  return Object.entries(known).every(([name, value]) => JSON.stringify(fields[name]) === JSON.stringify(value))
}

/**
 * What lists show is what the journal says. Only whoever drives a tree knows that its children all wait; and what is
 * shown of a run may be one commit behind while somebody owns it.
 */
function statusProblems({ head, owner, entries }: SeenRun): string[] {
  if (owner !== undefined && !isEnded(head.status)) return []
  const state = foldAll(head.run, entries)
  const says = statusOf(state)
  const resting = head.status === 'waiting' && says === 'running' && state.children.size > 0
  const expected = headOf(state)
  const problems: string[] = []
  if (head.status !== says && !resting) problems.push(`run ${head.run} is shown as ${head.status}, and is ${says}`)
  if (head.questions.length !== expected.questions.length)
    problems.push(
      `run ${head.run} is shown with ${head.questions.length} questions, and has ${expected.questions.length}`,
    )
  if (head.wake !== expected.wake) problems.push(`run ${head.run} is to be woken at ${head.wake}, not ${expected.wake}`)
  return problems
}

/** When a root run has ended, so has everything below it. */
function orphanProblems(runs: readonly SeenRun[]): string[] {
  const ended = new Set(runs.filter(({ head }) => isEnded(head.status)).map(({ head }) => head.run))
  return runs
    .filter(({ head }) => head.run !== head.root && ended.has(head.root) && !ended.has(head.run))
    .map(({ head }) => `run ${head.run} ('${head.definition}') is ${head.status}, and its root has ended`)
}

/** How a driven run came out: the last line of --json, and the closing lines for people. */
import { errorText, withoutStack } from '../../base/nerve-error.ts'
import { showDuration } from '../../base/duration.ts'
import type { InboxRow, RunEvent, RunRow } from '../../host/api.ts'
import type { ResumePlan, Usage } from '../../journal/events.ts'
import { asCalled } from './as-called.ts'
import { amount, joined, money } from './event-lines.ts'
import { EXIT, exitCodeOf } from './exit-code.ts'
import type { Output } from './output.ts'
import { placeLines } from './place-lines.ts'
import { clean, oneLine, readable } from './printable.ts'
import { deadlineText } from './prompt.ts'
import type { Tone } from './style.ts'

export interface Outcome {
  readonly row: RunRow
  /** False when another process drives the run, and only heard of what was asked. */
  readonly driven: boolean
  readonly questions: readonly InboxRow[]
  readonly signals: readonly string[]
  readonly end?: Extract<RunEvent, { readonly type: 'run-completed' | 'run-failed' | 'run-cancelled' }>
  /** The code has changed since the run was recorded. */
  readonly plan?: ResumePlan
  /** Whose budget is spent, when it is a child's. */
  readonly spender?: RunRow
}

/** The outcome of a run whose tree has these rows. */
export function outcomeOf(
  row: RunRow,
  rows: readonly RunRow[],
  { end, plan }: { readonly end: Outcome['end'] | undefined; readonly plan: ResumePlan | undefined },
): Outcome {
  const spender = spenderIn(row, rows)
  return {
    row,
    driven: true,
    questions: rows.flatMap(({ run, definition, questions }) =>
      questions.map((question) => ({ ...question, run, definition })),
    ),
    signals: rows.flatMap(({ signals }) => signals),
    ...(end === undefined ? {} : { end }),
    ...(plan === undefined || row.status !== 'paused' ? {} : { plan }),
    ...(spender === undefined ? {} : { spender }),
  }
}

/** A spent budget exhausts its run and those above it: the lowest one is the one to raise. */
function spenderIn(row: RunRow, rows: readonly RunRow[]): RunRow | undefined {
  const below = rows.find(({ parent, status }) => parent === row.run && status === 'exhausted')
  return below === undefined ? undefined : (spenderIn(below, rows) ?? below)
}

export function codeOf(outcome: Outcome): number {
  return outcome.driven ? exitCodeOf(outcome.row.status) : EXIT.done
}

export function report(out: Output, outcome: Outcome): number {
  if (out.json) out.data(resultData(outcome, out.verbose))
  else for (const line of resultLines(out, outcome, Date.now())) out.line(line)
  return codeOf(outcome)
}

/** The last line of `run --json`. */
export function resultData(outcome: Outcome, verbose: boolean): Record<string, unknown> {
  const { row, end, plan, questions, signals, driven } = outcome
  return {
    type: 'result',
    run: row.run,
    definition: row.definition,
    status: row.status,
    ...(end?.type === 'run-completed' ? { output: end.output ?? null } : {}),
    ...(end?.type === 'run-failed' ? { error: verbose ? end.error : withoutStack(end.error) } : {}),
    ...(questions.length === 0 ? {} : { questions }),
    ...(signals.length === 0 ? {} : { signals }),
    ...(row.wake === undefined ? {} : { wake: row.wake }),
    ...(plan === undefined ? {} : { plan }),
    failures: row.failures,
    usage: row.usage,
    ...(driven ? {} : { driven }),
  }
}

export function resultLines(out: Output, outcome: Outcome, now: number): string[] {
  const { row, end, plan, driven } = outcome
  if (!driven)
    return [
      `${row.definition} ${row.run} goes on in the process that drives it (${row.status}).`,
      hint(out, `nerve events ${row.run} --follow`),
    ]
  switch (row.status) {
    case 'completed':
      return [headline(out, row, 'good'), ...value(end)]
    case 'completed-with-failures':
      return [
        headline(out, row, 'warn'),
        out.tone(`${row.failures} steps FAILED and the run went on: nerve show ${row.run}`, 'bad'),
        ...value(end),
      ]
    case 'failed':
      return [headline(out, row, 'bad'), ...failureLines(outcome), hint(out, `nerve show ${row.run}`)]
    case 'cancelled':
      return [headline(out, row, 'warn')]
    case 'exhausted':
      return [headline(out, row, 'warn'), ...exhaustedLines(out, outcome.spender ?? row)]
    case 'paused':
      return plan === undefined
        ? [
            headline(out, row, 'warn'),
            ...(outcome.questions.length > 0 ? questionBlock(out, outcome, now) : []),
            hint(out, `nerve resume ${row.run}`),
          ]
        : [
            headline(out, row, 'warn'),
            'The code has changed since this run was recorded. Nothing was executed.',
            ...planLines(plan),
            hint(out, `nerve resume ${row.run} --accept`),
            hint(out, `nerve resume ${row.run} --from PATH`),
          ]
    default:
      return [headline(out, row, 'warn'), ...questionBlock(out, outcome, now), ...signalLines(out, outcome, now)]
  }
}

/** `completed  publish  1kq3…  2.3s  5 steps  $0.02`. */
function headline(out: Output, row: RunRow, tone: Tone): string {
  const time = showDuration(Math.max(0, (row.ended ?? row.updated) - row.created))
  return `${out.tone(row.status, tone)}  ${joined(row.definition, row.run, time, spent(row))}`
}

export function spent(row: { readonly steps: number; readonly usage: Usage }): string {
  const { usd = 0, tokens = 0 } = row.usage
  return joined(
    `${row.steps} ${row.steps === 1 ? 'step' : 'steps'}`,
    usd === 0 ? '' : money(usd),
    tokens === 0 ? '' : `${amount(tokens)} tokens`,
  )
}

function value(end: Outcome['end']): string[] {
  return end?.type === 'run-completed' && end.output !== undefined ? [readable(end.output)] : []
}

function failureLines(outcome: Outcome): string[] {
  const { end, row } = outcome
  if (end?.type !== 'run-failed') return [row.error ?? '']
  const step = end.error.data?.['step']
  return [`${typeof step === 'string' ? `${step}: ` : ''}${errorText(end.error)}`, ...placeLines(end.error)]
}

function exhaustedLines(out: Output, row: RunRow): string[] {
  const { budget = {} } = row
  const usage = row.usage as Readonly<Record<string, number | undefined>>
  const lines = Object.entries(budget).flatMap(([name, limit]) => {
    const used = usage[name] ?? 0
    return name === 'depth'
      ? []
      : [
          `  ${name}: ${name === 'usd' ? money(used) : amount(used)} of ${name === 'usd' ? money(Number(limit)) : amount(Number(limit))}`,
        ]
  })
  const limits = Object.entries(budget).filter(([name]) => name !== 'depth')
  const [first = 'usd'] = limits.find(([name, limit]) => (usage[name] ?? 0) >= Number(limit)) ?? limits[0] ?? []
  return [
    'The budget is spent; nothing new starts.',
    ...lines,
    hint(out, `nerve resume ${row.run} --budget ${first}=N`),
  ]
}

export function planLines(plan: ResumePlan): string[] {
  const list = (word: string, paths: readonly string[]): string[] =>
    paths.map((path, index) => `  ${(index === 0 ? `${word} ${paths.length}` : '').padEnd(12)}${oneLine(path)}`)
  return [
    `  keep ${plan.keep}`,
    ...(plan.rerun.length === 0 ? ['  re-run 0'] : list('re-run', plan.rerun)),
    ...(plan.unknown.length === 0 ? ['  unknown 0'] : list('unknown', plan.unknown)),
  ]
}

function questionBlock(out: Output, outcome: Outcome, now: number): string[] {
  return outcome.questions.flatMap((question) => questionText(out, question, now))
}

/** A question that is not asked here, with the command that answers it. */
export function questionText(out: Output, question: InboxRow, now: number): string[] {
  const { choices } = question
  const numbered = choices?.map((choice, index) => `${index + 1} ${oneLine(choice)}`).join(', ')
  const deadline = deadlineText(question, now)
  return [
    `${out.tone('?', 'ask')} ${clean(question.prompt)}`,
    ...(numbered === undefined ? [] : [`  ${numbered}`]),
    ...(deadline === '' ? [] : [`  ${deadline}`]),
    answerHint(out, question),
  ]
}

export function answerHint(out: Output, { id, choices }: Pick<InboxRow, 'id' | 'choices'>): string {
  return hint(out, `nerve answer ${id} ${choices === undefined ? 'VALUE' : typedChoice(choices[0] ?? '')}`)
}

function signalLines(out: Output, outcome: Outcome, now: number): string[] {
  const { row, signals } = outcome
  const wake =
    row.wake === undefined || outcome.questions.length > 0
      ? []
      : [`  wakes in ${showDuration(Math.max(0, row.wake - now))}, when a process drives it: nerve resume --all`]
  return [
    ...signals.flatMap((name) => [
      `It waits for the signal ${oneLine(name)}.`,
      hint(out, `nerve signal ${row.run} ${shellWord(name)}`),
    ]),
    ...wake,
  ]
}

function hint(out: Output, command: string): string {
  return out.tone(`  ${asCalled(command)}`, 'bold')
}

/** Its label, or its number when nobody can type that. */
function typedChoice(label: string): string {
  return oneLine(label) === label && label !== '' ? shellWord(label) : '1'
}

/** A word that a shell takes as it is, quoted when it has to be. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${oneLine(text).replaceAll("'", `'\\''`)}'`
}

/** Assertions on runs, for any test runner: everything that is not as wanted, in one error. */
import { AssertionError } from 'node:assert'
import { inspect, isDeepStrictEqual } from 'node:util'
import type { Host } from '../host/host.ts'
import { isEnded, type ShownStatus, type Usage } from '../journal/events.ts'
import type { RunRow } from '../projections/runs.ts'
import { runFacts, withoutNumbers, type RunFacts, type StepFact } from './run-facts.ts'

/** What is left out is not looked at, but for `status` and `replays`. */
export interface WantedRun {
  /** Default: `completed`. */
  readonly status?: ShownStatus
  readonly output?: unknown
  /** The code of the error with which it failed. */
  readonly error?: string
  /**
   * A list: the paths of all steps that completed, in any order. Or how often steps ran: by path, `review#2`, or by the path
   * without numbers, `review`, which is all of them together.
   */
  readonly steps?: readonly string[] | Readonly<Record<string, number>>
  /** The prompts of all questions, in their order: a part of each, or an expression. */
  readonly questions?: readonly (string | RegExp)[]
  /** The names of what it emitted, in order. */
  readonly emitted?: readonly string[]
  /** What it spent: only the fields that are given. */
  readonly usage?: Usage
  /** Whether the same code over the journal comes to the same (default: true when the run has ended). */
  readonly replays?: boolean
}

/** Throws an AssertionError that says all that is not as wanted. Gives what the run did, for more of your own. */
export async function expectRun(
  host: Pick<Host, 'run' | 'journal' | 'replay'>,
  run: string | { readonly id: string },
  wanted: WantedRun = {},
): Promise<RunFacts> {
  const id = typeof run === 'string' ? run : run.id
  const row = await host.run(id)
  const facts = runFacts(await host.journal(id))
  const problems = [
    ...statusProblems(row, facts, wanted),
    ...stepProblems(facts, wanted.steps),
    ...questionProblems(facts, wanted.questions),
    ...listProblem(
      'emitted',
      facts.emitted.map(({ name }) => name),
      wanted.emitted,
    ),
    ...usageProblems(row.usage, wanted.usage),
    ...((wanted.replays ?? isEnded(row.status)) ? await replayProblems(host, id) : []),
  ]
  if (problems.length === 0) return facts
  throw new AssertionError({
    message: `The run ${row.run} of '${row.definition}' is not as wanted:\n${problems.map((one) => `- ${one}`).join('\n')}`,
    actual: { status: row.status, usage: row.usage, ...facts },
    expected: wanted,
    operator: 'expectRun',
  })
}

function statusProblems({ status, questions }: RunRow, facts: RunFacts, wanted: WantedRun): string[] {
  const { status: expected = wanted.error === undefined ? 'completed' : 'failed' } = wanted
  const problems: string[] = []
  const why = facts.error === undefined ? '' : `: ${facts.error.code}: ${facts.error.message}`
  const waits = questions.map(({ prompt }) => `. It waits for an answer to ${inspect(prompt)}`).join('')
  if (status !== expected) problems.push(`status: wanted ${expected}, is ${status}${why}${waits}`)
  if (wanted.error !== undefined && facts.error?.code !== wanted.error)
    problems.push(`error: wanted ${wanted.error}, is ${facts.error?.code ?? 'none'}`)
  if ('output' in wanted && !isDeepStrictEqual(facts.output, wanted.output))
    problems.push(`output: wanted ${shown(wanted.output)}, is ${shown(facts.output)}`)
  return problems
}

function stepProblems({ steps }: RunFacts, wanted: WantedRun['steps']): string[] {
  if (wanted === undefined) return []
  if (isList(wanted)) {
    const completed = steps.filter((step) => step.completed).map(({ path }) => path)
    return listProblem('steps that completed', completed.toSorted(), wanted.toSorted())
  }
  const problems = Object.entries(wanted).flatMap(([path, times]) => {
    const ran = timesOf(steps, path)
    return ran === times ? [] : [`step ${path}: wanted to run ${often(times)}, ran ${often(ran)}`]
  })
  const all = steps.map(({ path, times }) => (times === 1 ? path : `${path} (${often(times)})`))
  return problems.length === 0 ? [] : [...problems, `the steps that ran: ${all.join(', ') || 'none'}`]
}

function timesOf(steps: readonly StepFact[], path: string): number {
  const same = path.includes('#') ? (one: string) => one === path : (one: string) => withoutNumbers(one) === path
  return steps.filter((step) => same(step.path)).reduce((sum, { times }) => sum + times, 0)
}

function often(times: number): string {
  return times === 1 ? 'once' : times === 0 ? 'never' : `${times} times`
}

function questionProblems({ questions }: RunFacts, wanted: WantedRun['questions']): string[] {
  if (wanted === undefined) return []
  const fits = (prompt: string, one: string | RegExp | undefined): boolean =>
    typeof one === 'string' ? prompt.includes(one) : one?.test(prompt) === true
  const prompts = questions.map(({ prompt }) => prompt)
  if (prompts.length === wanted.length && prompts.every((prompt, at) => fits(prompt, wanted[at]))) return []
  return [`questions: wanted ${shown(wanted)}, asked ${shown(prompts)}`]
}

function usageProblems(usage: Usage, wanted: Usage = {}): string[] {
  return Object.entries(wanted).flatMap(([name, amount]) => {
    const spent = usage[name as keyof Usage] ?? 0
    return spent === amount ? [] : [`usage.${name}: wanted ${amount}, is ${spent}`]
  })
}

function listProblem(name: string, found: readonly string[], wanted: readonly string[] | undefined): string[] {
  if (wanted === undefined || isDeepStrictEqual(found, wanted)) return []
  return [`${name}: wanted ${shown(wanted)}, are ${shown(found)}`]
}

async function replayProblems(host: Pick<Host, 'replay'>, run: string): Promise<string[]> {
  const { same, problems } = await host.replay(run)
  return same ? [] : [`replay: the code does not do what is recorded: ${problems.join('; ')}`]
}

function isList(wanted: WantedRun['steps'] & {}): wanted is readonly string[] {
  return Array.isArray(wanted)
}

function shown(value: unknown): string {
  return inspect(value, { depth: 6, breakLength: Infinity })
}

/**
 * Ralph: an agent in a loop, with evidence. It looks, writes a spec that a person approves, lists features, and builds one
 * after the other until the tests pass.
 *
 * Every turn is a new session: what it has to know is in its prompt and in the folder, so no turn can be led astray by the ones
 * before, and a crash between two loses nothing. It ends by its evidence (the tests pass), by its bound, or by a person who
 * rejects the spec. When its budget is spent, the run is held by the engine like any other, and goes on with a larger one.
 */
import { NerveError } from '../../base/nerve-error.ts'
import type { AnyRunnable, Context, Definition } from '../../engine/definition.ts'
import { runnableOf } from '../../engine/run-node.ts'
import { tell, type TextAgent } from '../agents/told.ts'
import { workflow } from '../workflow.ts'
import { featuresIn, mergeFeatures, openFeature, passed, type Feature } from './features.ts'
import {
  debugText,
  failureText,
  featuresText,
  implementText,
  lateResult,
  researchText,
  specText,
  type TestResult,
} from './ralph-prompts.ts'

export interface RalphOptions {
  readonly agent: TextAgent
  /** Runs the tests: a node or definition that gives `{ exitCode, stdout, stderr }`, as `bash` does with `check: false`. */
  readonly test: AnyRunnable | string
  /** Opens a pull request, when the input asks for one. Gets `{ task, spec, features }`. */
  readonly pullRequest?: AnyRunnable | string
  readonly name?: string
}

export interface RalphInput {
  readonly task: string
  /** How often it may implement something (default 10). */
  readonly max?: number
  /** How often one feature may be tried (default 3). */
  readonly attempts?: number
  /** Open a pull request when the tests pass (default false). */
  readonly pullRequest?: boolean
}

export interface RalphResult {
  readonly stopped: 'tests-pass' | 'bound' | 'rejected'
  /** The same in words. */
  readonly why: string
  /** How often it implemented something. */
  readonly turns: number
  readonly spec: string
  readonly features: readonly Feature[]
  /** What opened it said. */
  readonly pullRequest?: unknown
}

const MOST_TURNS = 10
const MOST_ATTEMPTS = 3
const MOST_SPECS = 5

/**
 * The loop as a workflow, on any agent and any test.
 *
 * ```ts
 * import { agent } from 'nerve/agents'
 * import { ralph } from 'nerve/library'
 * import { bash } from 'nerve/nodes'
 *
 * export default ralph({
 *   agent: agent('coder', { use: 'claude' }),
 *   test: bash('test', { command: 'npm test', check: false, effect: 'repeatable' }),
 * })
 * ```
 */
export function ralph<Input extends RalphInput = RalphInput>(options: RalphOptions): Definition<Input, RalphResult> {
  const { name = 'ralph', pullRequest } = options
  const description = 'Research, a spec that a person approves, features one by one until the tests pass'
  return workflow(name, { description }, async (ctx: Context<Input>, input: Input) => {
    checkInput(name, input, pullRequest !== undefined)
    const work = new Ralph(ctx, options, input)
    const result = await work.run()
    ctx.emit('ralph-stopped', { stopped: result.stopped, why: result.why, turns: result.turns })
    return result
  })
}

function checkInput(name: string, input: RalphInput, opens: boolean): void {
  const { task, max = 1, attempts = 1, pullRequest = false } = (input ?? {}) as Partial<RalphInput>
  const wrong = (text: string): never => {
    throw new NerveError('bad-input', `${name}: ${text}`)
  }
  if (typeof task !== 'string' || task.trim() === '') wrong('give a task: { "task": "what is to be done" }.')
  for (const [key, value] of Object.entries({ max, attempts }))
    if (!(Number.isInteger(value) && value > 0)) wrong(`${key} is ${String(value)}; give a whole number from 1.`)
  if (pullRequest && !opens) wrong('nothing here can open a pull request.')
}

class Ralph {
  readonly #ctx: Context
  readonly #options: RalphOptions
  readonly #input: Required<Pick<RalphInput, 'task' | 'max' | 'attempts' | 'pullRequest'>>
  #features: readonly Feature[] = []
  #turns = 0

  constructor(ctx: Context, options: RalphOptions, input: RalphInput) {
    this.#ctx = ctx
    this.#options = options
    const { task, max = MOST_TURNS, attempts = MOST_ATTEMPTS, pullRequest = false } = input
    this.#input = { task, max, attempts, pullRequest }
  }

  async run(): Promise<RalphResult> {
    const { task } = this.#input
    const research = await this.#say('research', researchText(task))
    const { spec, approved } = await this.#agree(research)
    if (!approved) return this.#end('rejected', 'A person rejected the spec.', spec)
    this.#update(...(await this.#list(spec)))
    await this.#implement(spec)
    const left = this.#features.filter(({ status }) => status !== 'passes')
    if (left.length > 0) return this.#end('bound', this.#bound(left), spec)
    const ended = this.#end('tests-pass', 'The tests pass, and every feature is built.', spec)
    const opens = this.#options.pullRequest
    if (!this.#input.pullRequest || opens === undefined) return ended
    const about = { task, spec, features: this.#features }
    const opened: unknown = await this.#ctx.run(runnableOf(this.#ctx, opens), about, { label: 'pull-request' })
    return { ...ended, pullRequest: opened }
  }

  /** A spec that a person approved, or the last one. */
  async #agree(research: string): Promise<{ readonly spec: string; readonly approved: boolean }> {
    const { task } = this.#input
    let spec = await this.#say('spec', specText({ task, research }))
    for (let left = MOST_SPECS; left > 0; left -= 1) {
      const prompt = `Is this what is to be built?\n\n${spec}`
      const choices = ['approve', 'revise', 'reject'] as const
      const answer = await this.#ctx.ask(prompt, { choices, label: 'approve', detail: { task, spec } })
      if (answer !== 'revise') return { spec, approved: answer === 'approve' }
      const notes = await this.#ctx.ask('What should be different in the spec?', { label: 'notes' })
      spec = await this.#say('spec', specText({ task, research, before: { spec, notes } }))
    }
    return { spec, approved: false }
  }

  /** Without a list there is one feature: the task. */
  async #list(spec: string): Promise<readonly Feature[]> {
    const { task } = this.#input
    const said = await this.#say('features', featuresText(task, spec))
    return featuresIn(said) ?? [openFeature('task', task)]
  }

  async #implement(spec: string): Promise<void> {
    let failure: string | undefined
    while (this.#turns < this.#input.max) {
      const feature = this.#features.find(({ status }) => status === 'open')
      if (feature === undefined) return
      this.#turns += 1
      const last = failure
      failure = await this.#ctx.scope(`turn-${this.#turns}`, () => this.#turn(spec, feature, last))
    }
  }

  /** One feature, one try. Returns how the tests failed. */
  async #turn(spec: string, feature: Feature, last: string | undefined): Promise<string | undefined> {
    const { task, attempts: most } = this.#input
    const work = { task, spec, feature, features: this.#features, failure: last }
    await this.#say('implement', implementText(work))
    const test = runnableOf(this.#ctx, this.#options.test)
    const late = { fallback: (_: unknown, error: unknown) => lateResult(error) }
    const result = (await this.#ctx.run(test, undefined, { label: 'test', onError: late })) as TestResult
    const attempts = feature.attempts + 1
    if (result.exitCode === 0) {
      this.#update(...passed(mergeFeatures(this.#features, { ...feature, attempts })))
      return undefined
    }
    const failure = failureText(result)
    const report = await this.#say('debug', debugText(work, failure))
    this.#update({ ...feature, attempts, status: attempts < most ? 'open' : 'failed', report })
    return failure
  }

  /** Changes the list, and says what is different. */
  #update(...changed: readonly Feature[]): void {
    const before = new Map(this.#features.map((feature) => [feature.id, feature]))
    this.#features = mergeFeatures(this.#features, ...changed)
    for (const { id, text, status, attempts } of this.#features) {
      const old = before.get(id)
      if (old?.status !== status || old.attempts !== attempts) this.#ctx.emit('feature', { id, text, status, attempts })
    }
  }

  async #say(label: string, prompt: string): Promise<string> {
    return (await tell(this.#ctx, this.#options.agent, prompt, { label, session: 'new' })).text
  }

  #bound(left: readonly Feature[]): string {
    const { max, attempts } = this.#input
    const names = left.map(({ id }) => id).join(', ')
    const open = left.some(({ status }) => status === 'open')
    return open
      ? `The bound of ${max} turns is reached, and the tests do not pass yet. Not built: ${names}.`
      : `Each feature may be tried ${attempts} times, and the tests still fail. Not built: ${names}.`
  }

  #end(stopped: RalphResult['stopped'], why: string, spec: string): RalphResult {
    return { stopped, why, turns: this.#turns, spec, features: this.#features }
  }
}

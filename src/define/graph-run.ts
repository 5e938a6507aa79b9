/**
 * Runs the steps of a graph. A step starts as soon as everything before it has ended and there is room; there are no
 * layers. The engine does the rest: every step is a step (or a scope) of the run, under its own id.
 *
 * Invariants:
 *  1. A step starts once, after everything it comes after has ended.
 *  2. At most `maxParallel` steps run at a time.
 *  3. What follows from an ended step follows from the journal alone, so that a replay takes the same way.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { NerveError } from '../base/nerve-error.ts'
import type { AddedStep, AnyRunnable, Context, RunningGraph } from '../engine/definition.ts'
import { derive, isNode, namesOf, recordFailure, skipStep, stopWatch } from '../engine/run-node.ts'
import type { ErrorPolicy } from '../journal/events.ts'
import { checkAdded, onceEach, type GraphStep, type StepFacts, type Upstream } from './graph-steps.ts'

export interface GraphPlan {
  readonly name: string
  readonly steps: readonly GraphStep[]
  readonly maxParallel: number
  readonly errorPolicy: ErrorPolicy
  /** Steps that a result asks to be added, if it does. */
  readonly expand?: (output: unknown) => Expansion | undefined
  /** True for an error that says that the step was taken out: what comes after it follows the policy, nothing else stops. */
  readonly takenOut?: (error: unknown) => boolean
}

/** A result that brings further steps with it. */
export interface Expansion {
  readonly output: unknown
  readonly steps: readonly GraphStep[]
}

type State = 'waiting' | 'ready' | 'running' | keyof typeof ENDS
type Settled = 'done' | 'failed' | 'unwanted' | 'out'

interface Part {
  readonly step: GraphStep
  readonly next: Part[]
  before: readonly Part[]
  missing: number
  state: State
  value: unknown
}

export function runGraph(ctx: Context, input: unknown, plan: GraphPlan): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    new GraphRun(ctx, input, { plan, resolve, reject }).begin()
  })
}

interface Ends {
  readonly plan: GraphPlan
  readonly resolve: (results: Record<string, unknown>) => void
  readonly reject: (error: unknown) => void
}

class GraphRun implements RunningGraph {
  readonly #ctx: Context
  readonly #inner: Context
  readonly #input: unknown
  readonly #ends: Ends
  readonly #parts = new Map<string, Part>()
  readonly #ready: Part[] = []
  readonly #here = AsyncLocalStorage.snapshot() as (run: () => void) => void
  readonly #isStopped: () => boolean
  #read = 0
  #running = 0
  #open = 0
  #over = false

  constructor(ctx: Context, input: unknown, ends: Ends) {
    this.#ctx = ctx
    this.#input = input
    this.#ends = ends
    this.#inner = derive(ctx, { graph: this })
    this.#isStopped = stopWatch(ctx)
  }

  begin(): void {
    const { steps } = this.#ends.plan
    for (const step of steps) this.#place(step)
    for (const part of this.#parts.values()) this.#link(part)
    for (const part of this.#parts.values()) if (part.missing === 0) this.#decide(part)
    this.#go()
  }

  has(id: string): boolean {
    return this.#parts.has(id)
  }

  add(id: string, node: AnyRunnable | string, options: AddedStep = {}): void {
    if (this.#over)
      throw new NerveError(
        'bad-definition',
        `Graph '${this.#ends.plan.name}' has ended: step '${id}' can no longer be added to it.`,
      )
    // Called by a definition that runs in the graph: what is added runs beside it, not inside it.
    this.#here(() => {
      this.#add([{ ...options, id, node, after: options.after ?? [] }])
      this.#go()
    })
  }

  #add(steps: readonly GraphStep[]): void {
    const problems = checkAdded(steps, (id) => this.#parts.has(id), namesOf(this.#ctx))
    if (problems.length > 0)
      throw new NerveError(
        'bad-definition',
        `Steps cannot be added to graph '${this.#ends.plan.name}': ${problems.join(' ')}`,
        { data: { problems } },
      )
    const parts = steps.map((step) => this.#place(step))
    for (const part of parts) {
      const { id, node, after } = part.step
      const told = { id, node: typeof node === 'string' ? node : nameOf(node), after }
      void this.#ctx.scope(`${id}+`, () => this.#ctx.emit('step-added', told))
      this.#link(part)
    }
    // One that does not run takes those behind it along.
    for (const part of parts) if (part.state === 'waiting' && part.missing === 0) this.#decide(part)
  }

  #place(step: GraphStep): Part {
    const part: Part = { step, next: [], before: NOTHING, missing: 0, state: 'waiting', value: undefined }
    this.#parts.set(step.id, part)
    this.#open += 1
    return part
  }

  #link(part: Part): void {
    const { after } = part.step
    if (after.length === 0) return
    const before = onceEach(after).map((id) => this.#parts.get(id) as Part)
    part.before = before
    for (const one of before) {
      if (isEnded(one)) continue
      one.next.push(part)
      part.missing += 1
    }
  }

  /** Everything before it has ended: it runs, or it does not, and then so do those behind it. */
  #decide(first: Part): void {
    const queue = [first]
    for (let part = queue.pop(); part !== undefined; part = queue.pop()) {
      const why = this.#unwanted(part)
      if (why === undefined) {
        part.state = 'ready'
        this.#ready.push(part)
        continue
      }
      part.state = why.state
      skipStep(this.#ctx, part.step.id, why.reason)
      this.#ended(part, queue)
    }
  }

  #unwanted({ before, step }: Part): { readonly state: State; readonly reason: string } | undefined {
    if (step.handles === true || before.length === 0) return undefined
    if (this.#ends.plan.errorPolicy !== 'continue') {
      const failed = before.find(({ state }) => state === 'failed' || state === 'unreachable' || state === 'out')
      if (failed !== undefined)
        return {
          state: 'unreachable',
          reason: `Step '${failed.step.id}', which comes before it, ${ENDS[failed.state as keyof typeof ENDS]}.`,
        }
    }
    if (!before.every(({ state }) => state === 'unwanted')) return undefined
    return { state: 'unwanted', reason: 'Nothing that comes before it was wanted.' }
  }

  #ended(part: Part, queue: Part[]): void {
    this.#open -= 1
    for (const next of part.next) {
      next.missing -= 1
      if (next.missing === 0) queue.push(next)
    }
  }

  #go(): void {
    const { maxParallel } = this.#ends.plan
    while (!this.#over && this.#running < maxParallel && this.#read < this.#ready.length) {
      const part = this.#ready[this.#read] as Part
      this.#read += 1
      this.#start(part)
    }
    if (this.#read === this.#ready.length) {
      this.#ready.length = 0
      this.#read = 0
    }
    if (this.#open === 0 && !this.#over) this.#finish()
  }

  #start(part: Part): void {
    part.state = 'running'
    this.#running += 1
    const { when } = part.step
    const run = when === undefined ? this.#run(part) : this.#runWhen(part, when as Decide)
    run.then(
      (value) => this.#settle(part, value === NOT_WANTED ? 'unwanted' : 'done', value),
      (error: unknown) => this.#settle(part, this.#ends.plan.takenOut?.(error) === true ? 'out' : 'failed', error),
    )
  }

  async #runWhen(part: Part, when: Decide): Promise<unknown> {
    const { id } = part.step
    const wanted = await this.#ctx.step(`${id}?`, () => when(this.#upstream(part), this.#facts(part)))
    if (wanted) return this.#run(part)
    skipStep(this.#ctx, id, 'Its condition does not hold.')
    return NOT_WANTED
  }

  #run(part: Part): Promise<unknown> {
    const { id, node, inputFn, input, policy, parser } = part.step
    let given: unknown = input
    if (inputFn !== undefined) {
      try {
        given = (inputFn as MakeInput)(this.#upstream(part), this.#facts(part))
      } catch (error) {
        return this.#ctx.step(id, () => Promise.reject(error), { ...policy, attempts: 1 })
      }
    }
    const options = policy === undefined && parser === undefined ? { label: id } : { ...policy, label: id, parser }
    return this.#inner.run(node as AnyRunnable, given as never, options as never)
  }

  #settle(part: Part, state: Settled, value: unknown): void {
    this.#running -= 1
    if (this.#over) return
    // Stopped from outside, by a cancel or a lost race: no policy applies, and nothing more can be said.
    if ((state === 'failed' || state === 'out') && this.#isStopped()) return this.#fail(value)
    try {
      if (!this.#conclude(part, state, value)) return this.#fail(part.value)
      this.#go()
    } catch (error) {
      this.#fail(error)
    }
  }

  /** What follows from the end of a step. False when that is the end of the graph. */
  #conclude(part: Part, state: Settled, value: unknown): boolean {
    if (state === 'done') {
      try {
        part.value = this.#expanded(value)
      } catch (error) {
        // Steps that cannot be added are a failure of the step that wants them.
        return this.#conclude(part, 'failed', error)
      }
    } else part.value = value
    if (state === 'failed') {
      if (this.#stopsAll(part)) return false
      recordFailure(this.#ctx, `${part.step.id}!`, value)
    }
    part.state = state
    const queue: Part[] = []
    this.#ended(part, queue)
    for (const next of queue) this.#decide(next)
    return true
  }

  #fail(error: unknown): void {
    this.#over = true
    this.#ends.reject(error)
  }

  #expanded(value: unknown): unknown {
    const expansion = this.#ends.plan.expand?.(value)
    if (expansion === undefined) return value
    this.#add(expansion.steps)
    return expansion.output
  }

  /** A failure that a later step handles is not the end of the graph. */
  #stopsAll(part: Part): boolean {
    if (this.#ends.plan.errorPolicy !== 'stop') return false
    return !part.next.some(({ step }) => step.handles === true)
  }

  #finish(): void {
    this.#over = true
    const results: Record<string, unknown> = {}
    for (const [id, part] of this.#parts) if (part.state === 'done') results[id] = part.value
    this.#ends.resolve(results)
  }

  #upstream({ before }: Part): Upstream {
    // Without a prototype it is a plain table from the start: every step has other keys, and no shape is worth learning.
    const results = Object.create(null) as Record<string, unknown>
    for (const { step, state, value } of before) results[step.id] = state === 'done' ? value : undefined
    return results
  }

  #facts({ before }: Part): StepFacts {
    const errors: Record<string, unknown> = {}
    for (const { step, state, value } of before) if (state === 'failed' || state === 'out') errors[step.id] = value
    return { input: this.#input, params: this.#ctx.params, errors }
  }
}

type MakeInput = (upstream: Upstream, facts: StepFacts) => unknown
type Decide = (upstream: Upstream, facts: StepFacts) => boolean | Promise<boolean>

const NOTHING: readonly Part[] = []
const NOT_WANTED = Symbol('not wanted')

/** How steps end, as what comes after them is told. */
const ENDS = {
  done: 'ended',
  failed: 'failed',
  out: 'was taken out',
  unwanted: 'was not wanted',
  unreachable: 'did not run',
} as const

function isEnded({ state }: Part): boolean {
  return state in ENDS
}

function nameOf(node: AnyRunnable): string {
  return isNode(node) ? node.id : node.name
}

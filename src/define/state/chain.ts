/** The fluent form: what comes next is what is written next. It becomes the same plan as the graph form. */
import type { AnyRunnable } from '../../engine/definition.ts'
import { checkLimit, MAX_ITERATIONS } from '../control/control.ts'
import type { WaitNodeOptions } from './builder.ts'
import type { AnyChannel, StartOf } from './channel.ts'
import { compilePlan, type CompiledStateGraph, type CompileOptions } from './compiled.ts'
import { Draft, type GivenNode, type GivenWait } from './draft.ts'
import type { Exit, Loop, LoopFacts, Plan, PlanNode, Route, Work } from './plan.ts'
import { END } from './result.ts'
import type {
  Fresh,
  Mapped,
  NewId,
  Plain,
  Returned,
  Shape,
  StateFunction,
  StateIn,
  StateNodeOptions,
  SubjectFunction,
  Unmet,
  UpdateIn,
  Whole,
  With,
} from './shape.ts'

export interface ChainLoopOptions<Known extends Shape> {
  /** Looked at before each iteration: it ends when this holds. */
  readonly until: (state: StateIn<Known>, facts: LoopFacts) => boolean | Promise<boolean>
  /** How often it goes round at most (default 100). */
  readonly max?: number
  /** What reaching that means: it goes on behind the loop, and the journal says so (default), or it fails. */
  readonly onMax?: 'go on' | 'fail'
  readonly id?: string
}

export interface ParallelBranches<Known extends Shape, Branches> {
  /** Each gets the state as it is here, and goes its own way. Merged in the order in which they are written. */
  readonly branches: {
    readonly [Name in keyof Branches]: (branch: Chain<Fresh<Known>>) => Branches[Name]
  } & Met<Branches>
  /** What ends it: all of them (default), the first to end, the first to succeed. The others are stopped. */
  readonly mode?: 'all' | 'first' | 'any'
  /** Makes the update of the states that the branches ended with, instead of their own updates. It must be pure. */
  readonly merge?: (
    ended: { readonly [Name in keyof Branches]: StateIn<Known> },
    before: StateIn<Known>,
  ) => UpdateIn<Known>
  readonly id?: string
}

type Lost<One> = One extends Chain<infer Known, infer _Open> ? Unmet<Known> : never
type Met<Branches> = [Lost<Branches[keyof Branches]>] extends [never]
  ? unknown
  : { readonly 'there is no node': Lost<Branches[keyof Branches]> }

/** `Open` is what has begun and not ended: `if` and `else`, the innermost first. */
export interface Chain<Known extends Shape, Open extends readonly string[] = readonly []> {
  then<const Id extends string, Given extends Returned<Known>>(
    id: NewId<Known, Id>,
    run: StateFunction<Known, Given>,
    options?: StateNodeOptions<Known>,
  ): Chain<With<Known, Id, Plain, Given>, Open>
  then<const Id extends string, One extends AnyRunnable | string, Given extends Returned<Known>>(
    id: NewId<Known, Id>,
    node: One,
    options: Mapped<Known, One, Given>,
  ): Chain<With<Known, Id, Plain, Given>, Open>
  if(
    condition: (state: StateIn<Known>) => boolean | Promise<boolean>,
    options?: { readonly id?: string },
  ): Chain<Known, readonly ['if', ...Open]>
  readonly else: Open extends readonly ['if', ...infer Rest extends readonly string[]]
    ? () => Chain<Known, readonly ['else', ...Rest]>
    : 'else needs an if before it'
  readonly endif: Open extends readonly ['if' | 'else', ...infer Rest extends readonly string[]]
    ? () => Chain<Known, Rest>
    : 'endif needs an if before it'
  /** Goes round what the body adds. */
  loop<Inner extends Shape>(
    options: ChainLoopOptions<Known>,
    body: (body: Chain<Known>) => Chain<Inner>,
  ): Chain<Inner, Open>
  parallel<const Branches extends Readonly<Record<string, unknown>>>(
    options: ParallelBranches<Known, Branches>,
  ): Chain<Known, Open>
  /** Asks a person, and waits for the answer for as long as it takes. */
  wait<const Choice extends string = string, Answer = Choice, Given extends Returned<Known> = undefined>(
    prompt: string | ((state: StateIn<Known>) => string),
    options?: WaitNodeOptions<Known, Choice, Answer, Given> & { readonly id?: string },
  ): Chain<With<Known, never, Plain, Given>, Open>
  /** Handles what fails before it in this part of the chain. When nothing fails, it is passed by. */
  catch<Given extends Returned<Known>>(
    handle: SubjectFunction<Known, Error, Given>,
    options?: StateNodeOptions<Known> & { readonly id?: string },
  ): Chain<With<Known, never, Plain, Given>, Open>
  catch<One extends AnyRunnable | string, Given extends Returned<Known>>(
    node: One,
    options: Mapped<Known, One, Given, [error: Error]> & { readonly id?: string },
  ): Chain<With<Known, never, Plain, Given>, Open>
  readonly end: Open extends readonly [] ? () => Ended<Known> : 'an if has no endif'
}

/** A chain with nothing to follow. */
export interface Ended<Known extends Shape> {
  compile<Output = StateIn<Known>>(
    this: Whole<Known>,
    options?: CompileOptions<StateIn<Known>, Output>,
  ): CompiledStateGraph<StartOf<Known['channels']>, StateIn<Known>, Output>
}

type Part =
  | { readonly type: 'node'; readonly node: PlanNode }
  | { readonly type: 'catch'; readonly node: PlanNode }
  | { readonly type: 'if'; readonly route: Route; readonly yes: Part[]; readonly no: Part[]; readonly ways: Ways }
  | { readonly type: 'loop'; readonly loop: Loop; readonly parts: readonly Part[] }

/** Filled in when what comes after is known. */
interface Ways {
  yes: readonly Exit[]
  no: readonly Exit[]
}

type Build = (inner: ChainBuilder) => unknown

/** What `loop` was given. */
interface GivenLoop extends Partial<Pick<Loop, 'id' | 'max' | 'onMax'>> {
  readonly until: Loop['until']
}

/** What `parallel` was given. */
interface GivenParallel extends Partial<Pick<ParallelWork, 'mode' | 'merge'>> {
  readonly branches: Readonly<Record<string, Build>>
  readonly id?: string
}

type ParallelWork = Extract<Work, { type: 'parallel' }>

export class ChainBuilder {
  readonly #name: string
  readonly #channels: ReadonlyMap<string, AnyChannel>
  readonly #draft: Draft
  readonly #parts: Part[] = []
  #list = this.#parts
  /** The ifs around the place where the next part goes. */
  readonly #open: { readonly part: Extract<Part, { type: 'if' }>; readonly list: Part[] }[] = []

  constructor(name: string, channels: ReadonlyMap<string, AnyChannel>, draft = new Draft()) {
    this.#name = name
    this.#channels = channels
    this.#draft = draft
  }

  then(id: string, run: unknown, options?: GivenNode['options']): this {
    const node = this.#draft.add({ id, takes: 'nothing', run, ...(options === undefined ? {} : { options }) })
    return this.#add({ type: 'node', node })
  }

  if(condition: Route['choose'], options: { readonly id?: string } = {}): this {
    const id = this.#decisionId(options.id ?? 'if')
    if (typeof condition !== 'function') this.#draft.problems.push(`'${id}': the condition is not a function.`)
    const ways: Ways = { yes: [], no: [] }
    const route: Route = {
      id,
      choose: condition,
      exits: (chosen) => (chosen ? ways.yes : ways.no),
      get ways() {
        return [
          { label: 'yes', exits: ways.yes },
          { label: 'no', exits: ways.no },
        ]
      },
      shown: true,
    }
    const part = { type: 'if', route, yes: [] as Part[], no: [] as Part[], ways } as const
    this.#add(part)
    this.#open.unshift({ part, list: this.#list })
    this.#list = part.yes
    return this
  }

  else(): this {
    const [open] = this.#open
    if (open === undefined || this.#list !== open.part.yes)
      this.#draft.problems.push('there is an else without an if before it.')
    else this.#list = open.part.no
    return this
  }

  endif(): this {
    const open = this.#open.shift()
    if (open === undefined) this.#draft.problems.push('there is an endif without an if before it.')
    else this.#list = open.list
    return this
  }

  loop(options: GivenLoop, body: Build): this {
    const { until, max = MAX_ITERATIONS, onMax = 'go on' } = options
    const id = this.#decisionId(options.id ?? 'loop')
    const { problems } = this.#draft
    if (typeof until !== 'function') problems.push(`loop '${id}': until is not a function.`)
    for (const problem of checkLimit(max, 'max')) problems.push(`loop '${id}': ${problem}`)
    const inner = new ChainBuilder(this.#name, this.#channels, this.#draft)
    body(inner)
    if (inner.#parts.length === 0) problems.push(`loop '${id}' has nothing to do in it.`)
    inner.#mustBeClosed()
    const loop: Loop = { id, until, max, onMax, body: [], after: [] }
    return this.#add({ type: 'loop', loop, parts: inner.#parts })
  }

  parallel(options: GivenParallel): this {
    const { branches, mode = 'all', merge } = options
    const id = options.id ?? this.#draft.freeId('parallel')
    const { problems } = this.#draft
    const plans: Record<string, Plan> = {}
    for (const [name, build] of Object.entries(branches ?? {})) {
      const inner = new ChainBuilder(name, this.#channels)
      build(inner)
      plans[name] = inner.#plan()
      for (const problem of inner.#draft.problems) problems.push(`in branch '${name}' of '${id}': ${problem}`)
      if (/^\d+$/u.test(name))
        problems.push(`branch '${name}' of '${id}' is named by a number, which would change its place. Use a word.`)
    }
    if (Object.keys(plans).length === 0) problems.push(`parallel '${id}' has no branches.`)
    const work: Work = { type: 'parallel', branches: plans, mode, ...(merge === undefined ? {} : { merge }) }
    return this.#add({ type: 'node', node: this.#draft.place(id, 'nothing', work, {}) })
  }

  wait(prompt: unknown, options: GivenWait = {}): this {
    const id = options.id ?? this.#draft.freeId('wait')
    return this.#add({ type: 'node', node: this.#draft.wait(id, prompt, options) })
  }

  catch(run: unknown, options: GivenNode['options'] & { readonly id?: string } = {}): this {
    const id = options.id ?? this.#draft.freeId('catch')
    if (this.#list.length === 0) this.#draft.problems.push(`'${id}' has nothing before it that could fail.`)
    return this.#add({ type: 'catch', node: this.#draft.add({ id, takes: 'error', run, options }) })
  }

  end(): { compile(options?: CompileOptions<never, unknown>): unknown } {
    return { compile: (options = {}) => compilePlan(this.#plan(), options, this.#draft.problems) }
  }

  #add(part: Part): this {
    this.#list.push(part)
    return this
  }

  #decisionId(wanted: string): string {
    const id = this.#draft.freeId(wanted)
    this.#draft.decisions.add(id)
    return id
  }

  #plan(): Plan {
    const { nodes, problems } = this.#draft
    if (this.#parts.length === 0) problems.push('it has no nodes. Add one: then(id, (state) => update).')
    this.#mustBeClosed()
    for (const node of nodes.values()) node.exits.length = 0
    const entry = connect(this.#parts, [{ type: 'to', node: END }])
    guard(this.#parts)
    return { name: this.#name, channels: this.#channels, nodes, entry }
  }

  #mustBeClosed(): void {
    for (const { part } of this.#open) this.#draft.problems.push(`'${part.route.id}' has no endif.`)
  }
}

/** Connects parts from the last to the first: the way into them, when `next` is the way out. */
function connect(parts: readonly Part[], next: readonly Exit[]): readonly Exit[] {
  let exits = next
  for (const part of parts.toReversed()) {
    if (part.type === 'node' || part.type === 'catch') {
      part.node.exits.push(...exits)
      if (part.type === 'node') exits = [{ type: 'to', node: part.node.id }]
    } else if (part.type === 'if') {
      part.ways.yes = connect(part.yes, exits)
      part.ways.no = connect(part.no, exits)
      exits = [{ type: 'route', route: part.route }]
    } else {
      part.loop.after = exits
      part.loop.body = connect(part.parts, [{ type: 'loop', loop: part.loop, again: true }])
      exits = [{ type: 'loop', loop: part.loop, again: false }]
    }
  }
  return exits
}

type Guarded = Pick<PlanNode, 'handler'>

/** Gives what comes before a catch its handler; returns what none of these parts handles. */
function guard(parts: readonly Part[]): Guarded[] {
  let open: Guarded[] = []
  for (const part of parts) {
    if (part.type === 'node') open.push(part.node)
    else if (part.type === 'if') open.push(part.route, ...guard(part.yes), ...guard(part.no))
    else if (part.type === 'loop') open.push(part.loop, ...guard(part.parts))
    else {
      for (const one of open) one.handler = part.node.id
      open = [part.node]
    }
  }
  return open
}

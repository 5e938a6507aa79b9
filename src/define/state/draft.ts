/** What authors said about nodes and channels, checked and made into the parts of a plan. */
import { NerveError } from '../../base/nerve-error.ts'
import type { AnyRunnable, AskOptions, Policy } from '../../engine/definition.ts'
import { isDefinition, isNode } from '../../engine/run-node.ts'
import { isLabel } from '../../engine/scope.ts'
import type { AnyChannel, Channels, Values } from './channel.ts'
import { STRICT, type PlanNode, type Work } from './plan.ts'
import { END, START } from './result.ts'

/** What `node`, `each`, `then` and `catch` were given, whatever its form. */
export interface GivenNode {
  readonly id: string
  readonly takes: PlanNode['takes']
  readonly run: unknown
  readonly options?: {
    readonly policy?: Policy
    readonly to?: readonly string[]
    readonly input?: (...given: never[]) => unknown
    readonly update?: (output: never, state: never) => unknown
  }
}

/** What `wait` was given besides the prompt. */
export interface GivenWait extends AskOptions<string, unknown> {
  readonly id?: string
  readonly into?: (answer: never, state: never) => unknown
}

/** Gathers nodes and every problem with them. */
export class Draft {
  readonly nodes = new Map<string, PlanNode>()
  /** Ids of decisions: they share a drawing with the nodes. */
  readonly decisions = new Set<string>()
  readonly problems: string[] = []

  add(given: GivenNode): PlanNode {
    const { id, takes, options = {} } = given
    return this.place(id, takes, this.#work(given), options)
  }

  wait(id: string, prompt: unknown, options: GivenWait): PlanNode {
    const { into, id: _id, ...ask } = options
    if (typeof prompt !== 'function' && (typeof prompt !== 'string' || prompt === ''))
      this.problems.push(`wait '${id}' has no prompt: give a text, or a function of the state.`)
    if (into !== undefined && typeof into !== 'function') this.problems.push(`wait '${id}': into is not a function.`)
    const work = { type: 'wait', prompt, ask, ...(into === undefined ? {} : { into }) } as Work
    return this.place(id, 'nothing', work, {})
  }

  place(id: string, takes: PlanNode['takes'], work: Work, options: NonNullable<GivenNode['options']>): PlanNode {
    this.#checkId(id)
    const { policy = {}, to } = options
    const node: PlanNode = {
      id,
      index: this.nodes.size,
      takes,
      work,
      policy: work.type === 'function' ? { ...STRICT, ...policy } : policy,
      ...(to === undefined ? {} : { to }),
      exits: [],
    }
    this.nodes.set(id, node)
    return node
  }

  /** An id that is not taken: the wanted one, or one with a number. */
  freeId(wanted: string, isTaken = this.#isTaken): string {
    if (!isTaken(wanted)) return wanted
    for (let n = 2; ; n += 1) if (!isTaken(`${wanted}-${n}`)) return `${wanted}-${n}`
  }

  readonly #isTaken = (id: string): boolean => this.nodes.has(id) || this.decisions.has(id)

  #work({ id, takes, run, options = {} }: GivenNode): Work {
    const besides = takes !== 'nothing'
    if (typeof run === 'function') {
      const call = run as (...given: unknown[]) => unknown
      return {
        type: 'function',
        run: besides
          ? (subject, state, step) => call(subject, state, step)
          : (_subject, state, step) => call(state, step),
      }
    }
    const node = run as AnyRunnable | string
    if (typeof node !== 'string' && !isNode(node) && !isDefinition(node))
      this.problems.push(`node '${id}' is not a function of the state, a node, a definition, or the name of one.`)
    const { update } = options
    const input = options.input as ((...given: unknown[]) => unknown) | undefined
    if (typeof update !== 'function')
      this.problems.push(`node '${id}' needs an update: update: (output, state) => what goes into the state.`)
    return {
      type: 'node',
      node,
      input: (subject, state) => {
        if (takes === 'item') return subject
        return besides ? input?.(subject, state) : input?.(state)
      },
      update: update as (output: unknown, state: Values) => unknown,
    }
  }

  #checkId(id: unknown): void {
    if (!isLabel(id))
      this.problems.push(
        `${JSON.stringify(id)} is not an id for a node: use 1 to 200 characters without '/', '#' and line breaks.`,
      )
    else if (RESERVED.has(id) || /[?!]$/u.test(id))
      this.problems.push(`a node cannot have the id '${id}': it has a meaning of its own.`)
    else if (this.#isTaken(id)) this.problems.push(`two parts have the id '${id}'.`)
  }
}

/** Labels that a state graph uses itself, besides those that end in `?` (decisions) and `!` (failures). */
const RESERVED: ReadonlySet<string> = new Set([START, END, 'emit', 'checkpoint'])

export function channelMap(name: string, channels: Channels): ReadonlyMap<string, AnyChannel> {
  const entries = Object.entries(channels ?? {})
  const wrong = entries.filter(([key, one]) => key === '__proto__' || typeof one?.reduce !== 'function')
  if (entries.length === 0 || wrong.length > 0)
    throw new NerveError(
      'bad-definition',
      entries.length === 0
        ? `State graph '${name}' has no channels: stateGraph(name, { topic: channel<string>() }).`
        : `State graph '${name}': ${wrong.map(([key]) => `'${key}'`).join(', ')} is not a channel. Make it with channel(…).`,
    )
  return new Map(entries)
}

/**
 * What a node of a state graph returns: an update, where to go next, signals. All of it is plain data, because it is the
 * recorded result of a step and a replay must take the same way from it.
 */
import { NerveError, describe } from '../../base/nerve-error.ts'
import type { Values } from './channel.ts'

/** Where a run of a state graph begins: `edge(START, 'plan')`. */
export const START = 'START'
/** Where it ends: `edge('write', END)`, `goto(END)`. */
export const END = 'END'

const GOTO = 'nerve:goto'
const SEND = 'nerve:send'
const SIGNALS = 'nerve:signals'

/** One item for a node that runs once for each item. */
export interface Send<Id extends string = string, Item = unknown> {
  readonly 'nerve:send': Id
  readonly item: Item
}

export interface Goto<To extends string | Send = string | Send, Update = unknown> {
  readonly 'nerve:goto': readonly To[]
  readonly update?: Update
}

export interface Raised<Result = unknown> {
  readonly 'nerve:signals': readonly StateSignal[]
  readonly result?: Result
}

/** What somebody who looks for the cause of an error found. */
export interface DebugReport {
  readonly errorSummary: string
  readonly stackTrace?: string
  readonly relevantFiles?: readonly string[]
  readonly suggestedFixes?: readonly string[]
}

/** What a node can tell the outside. It becomes an event of the run, with the type as its name. */
export type StateSignal =
  | { readonly type: 'context_window_warning'; readonly usage: number }
  | { readonly type: 'checkpoint'; readonly label: string }
  | { readonly type: 'debug_report_generated'; readonly report: DebugReport }

/**
 * Goes to one or many nodes instead of following the edges, with an update.
 *
 * ```ts
 * import { channel, goto, stateGraph } from 'nerve/state'
 *
 * stateGraph('review', { text: channel<string>() })
 *   .node('check', ({ text }) => (text === '' ? goto('write', { text: 'A draft.' }) : undefined))
 *   .node('write', () => ({}))
 * ```
 */
export function goto<const To extends string | Send, Update extends object = {}>(
  to: To | readonly To[],
  update?: Update,
): Goto<To, Update> {
  const targets = Array.isArray(to) ? (to as readonly To[]) : [to as To]
  return { [GOTO]: targets, ...(update === undefined ? {} : { update }) }
}

/** An item for a node made with `each`. Return a list of them to fan out. */
export function send<const Id extends string, Item>(node: Id, item: Item): Send<Id, Item> {
  return { [SEND]: node, item }
}

/** A result with signals. */
export function raise<Result>(result: Result, ...signals: readonly StateSignal[]): Raised<Result> {
  return { [SIGNALS]: signals, ...(result === undefined ? {} : { result }) }
}

export interface Settled {
  readonly update?: Values
  /** Where to go; undefined: along the edges. */
  readonly targets?: readonly (string | Send)[]
  readonly signals?: readonly StateSignal[]
}

const NOTHING: Settled = {}

/** Reads what a node returned, live or recorded. */
export function readResult(id: string, result: unknown): Settled {
  if (result === undefined || result === null) return NOTHING
  if (Array.isArray(result)) return aimed(id, result, {})
  if (typeof result !== 'object') throw badResult(id, result)
  if (SIGNALS in result) {
    const { [SIGNALS]: signals, result: raised } = result as Raised
    const inner = readResult(id, raised)
    return { ...inner, signals: inner.signals === undefined ? signals : [...inner.signals, ...signals] }
  }
  if (GOTO in result) {
    const { [GOTO]: targets, update } = result as Goto
    return aimed(id, targets, update === undefined ? {} : { update: update as Values })
  }
  return { update: result as Values }
}

/** An empty list leads nowhere else: the edges are followed. */
function aimed(id: string, targets: readonly unknown[], settled: Settled): Settled {
  if (!targets.every((target) => typeof target === 'string' || isSend(target))) throw badResult(id, targets)
  return targets.length === 0 ? settled : { ...settled, targets }
}

export function isSend(value: unknown): value is Send {
  return typeof value === 'object' && value !== null && SEND in value
}

function badResult(id: string, result: unknown): NerveError {
  return new NerveError(
    'bad-output',
    `Node '${id}' returned ${describe(result).slice(0, 80)}. Return an update of the state, goto(…), a list of send(…), or nothing.`,
  )
}

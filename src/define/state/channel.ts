/**
 * Channels: the parts of a state, each with what it begins with and how updates go into it. Pure.
 *
 * A state is never changed: updates make the next one. All updates of one step go into a channel at once, in order, so
 * that ten thousand small ones cost no more than one large one.
 */
import { NerveError } from '../../base/nerve-error.ts'

declare const ORIGIN: unique symbol

export interface Channel<Value = unknown, Update = Value, Origin = 'default'> {
  readonly kind: 'replace' | 'concat' | 'merge' | 'mergeById' | 'custom'
  readonly initial: () => Value
  readonly reduce: (current: Value, updates: readonly Update[]) => Value
  readonly [ORIGIN]?: Origin
}

// oxlint-disable-next-line no-explicit-any -- Values are used both ways, so no other type accepts every channel.
export type AnyChannel = Channel<any, any, unknown>
export type Channels = Readonly<Record<string, AnyChannel>>

export type Values = Readonly<Record<string, unknown>>

type ValueIn<One> = One extends Channel<infer Value, infer _Update, infer _Origin> ? Value : never
type UpdateIn<One> = One extends Channel<infer _Value, infer Update, infer _Origin> ? Exclude<Update, undefined> : never

/** The state that some channels make. */
export type StateOf<All> = { readonly [Key in keyof All]: ValueIn<All[Key]> }

/** What a node may return: for any of the channels, what goes into it. */
export type UpdateOf<All> = { readonly [Key in keyof All]?: UpdateIn<All[Key]> }

/** Channels without a default, whose type has no undefined, must be in the input. */
type NeededIn<All> = {
  [Key in keyof All]: All[Key] extends Channel<infer Value, infer _Update, infer Origin>
    ? 'default' extends Origin
      ? never
      : undefined extends Value
        ? never
        : Key
    : never
}[keyof All]

/** What a run starts with. */
export type StartOf<All> = Flat<
  { readonly [Key in NeededIn<All>]: UpdateIn<All[Key]> } & {
    readonly [Key in Exclude<keyof All, NeededIn<All>>]?: UpdateIn<All[Key]>
  }
>

/** The same as one object: of an intersection with nothing in it, TypeScript accepts anything. */
type Flat<All> = { [Key in keyof All]: All[Key] }

interface Default<Value> {
  /** What it begins with. Called for every run and every replay: it must give the same each time. */
  readonly default: () => Value
}

interface Custom<Value, Update> extends Default<Value> {
  /** Makes the next value of the current one and an update. It must change neither, and depend on nothing else. */
  readonly reducer: (current: Value, update: Update) => Value
}

interface MakeChannel {
  /** Keeps the last value. It begins with what the input says. */
  <Value>(): Channel<Value, Value, 'input'>
  /** Begins with a default, and goes on by a reducer. */
  <Value, Update = Value>(options: Custom<Value, Update>): Channel<Value, Update>
  /** Begins with a default, and keeps the last value. */
  <Value>(options: Default<Value>): Channel<Value>
  /** A list that updates are added to. */
  concat<Item>(options?: Default<readonly Item[]>): Channel<readonly Item[], readonly Item[]>
  /** An object whose fields updates replace. */
  merge<Value extends object>(options: Default<Value>): Channel<Value, Partial<Value>>
  merge<Value extends object>(): Channel<Partial<Value>, Partial<Value>>
  /** A list of things with an id: an update replaces what has its id, or comes after the others. */
  mergeById<Item>(
    id: keyof Item & string,
    options?: Default<readonly Item[]>,
  ): Channel<readonly Item[], readonly Item[]>
}

/**
 * A channel of a state graph.
 *
 * ```ts
 * import { channel } from 'nerve/state'
 *
 * const channels = {
 *   topic: channel<string>(),
 *   notes: channel.concat<string>(),
 *   features: channel.mergeById<{ id: string; passes: boolean }>('id'),
 *   count: channel({ default: () => 0, reducer: (a: number, b: number) => a + b }),
 * }
 * ```
 */
export const channel: MakeChannel = Object.assign(
  <Value, Update>(options?: Default<Value> & Partial<Custom<Value, Update>>): Channel<Value, Update, never> => {
    const { default: initial = () => undefined as Value, reducer } = options ?? {}
    if (reducer === undefined) return { kind: 'replace', initial, reduce: last as Channel<Value, Update>['reduce'] }
    return {
      kind: 'custom',
      initial,
      reduce: (current, updates) => updates.reduce((value, update) => reducer(value, update), current),
    }
  },
  {
    concat: <Item>(options?: Default<readonly Item[]>): Channel<readonly Item[]> => ({
      kind: 'concat',
      initial: options?.default ?? (() => []),
      reduce: appended,
    }),
    merge: <Value extends object>(options?: Default<Value>): Channel<Value, Partial<Value>> => ({
      kind: 'merge',
      initial: options?.default ?? (() => ({}) as Value),
      reduce: (current, updates) =>
        updates.reduce<Value>((made, update) => Object.assign(made, update), { ...current }),
    }),
    mergeById,
  },
)

function last(_current: unknown, updates: readonly unknown[]): unknown {
  return updates.at(-1)
}

function appended<Item>(current: readonly Item[], updates: readonly (readonly Item[])[]): readonly Item[] {
  const next = current.slice()
  for (const items of updates) for (const item of items) next.push(item)
  return next
}

function mergeById<Item>(id: keyof Item & string, options?: Default<readonly Item[]>): Channel<readonly Item[]> {
  // Where each id is in the latest list: a list of ten thousand is not read again for every update.
  const places = new WeakMap<readonly Item[], Map<unknown, number>>()
  return {
    kind: 'mergeById',
    initial: options?.default ?? (() => []),
    reduce(current, updates) {
      const place = places.get(current) ?? new Map(current.map((item, index) => [item[id], index]))
      places.delete(current)
      const next = [...current]
      for (const items of updates) {
        for (const item of items) {
          const at = place.get(item[id])
          if (at === undefined) place.set(item[id], next.push(item) - 1)
          else next[at] = item
        }
      }
      places.set(next, place)
      return next
    },
  }
}

/** The state before anything happened: the defaults. */
export function initialState(channels: ReadonlyMap<string, AnyChannel>): Values {
  const state: Record<string, unknown> = {}
  for (const [key, { initial }] of channels) state[key] = initial()
  return Object.freeze(state)
}

/** The next state. Fields that are undefined say nothing: a journal does not keep them. */
export function mergeUpdates(
  channels: ReadonlyMap<string, AnyChannel>,
  state: Values,
  updates: readonly Values[],
): Values {
  const grouped = new Map<string, unknown[]>()
  for (const update of updates) {
    for (const key in update) {
      const value = update[key]
      if (value === undefined) continue
      const known = grouped.get(key)
      if (known === undefined) grouped.set(key, [value])
      else known.push(value)
    }
  }
  if (grouped.size === 0) return state
  const next: Record<string, unknown> = { ...state }
  for (const [key, values] of grouped) {
    const { reduce } = channels.get(key) ?? unknownChannel(channels, key)
    try {
      next[key] = (reduce as (current: unknown, updates: readonly unknown[]) => unknown)(state[key], values)
    } catch (cause) {
      throw new NerveError('bad-output', `The reducer of channel '${key}' failed: ${String(cause)}`, { cause })
    }
  }
  return Object.freeze(next)
}

/** What is wrong with an update, or undefined. */
export function updateProblem(channels: ReadonlyMap<string, AnyChannel>, update: Values): string | undefined {
  for (const key in update) {
    const known = channels.get(key)
    if (known === undefined) return `'${key}' is not a channel. Channels: ${[...channels.keys()].join(', ')}.`
    const value = update[key]
    if (value === undefined) continue
    if ((known.kind === 'concat' || known.kind === 'mergeById') && !Array.isArray(value))
      return `the channel '${key}' takes a list.`
    if (known.kind === 'merge' && (typeof value !== 'object' || value === null))
      return `the channel '${key}' takes an object.`
  }
  return undefined
}

function unknownChannel(channels: ReadonlyMap<string, AnyChannel>, key: string): never {
  throw new NerveError('bad-output', `'${key}' is not a channel. Channels: ${[...channels.keys()].join(', ')}.`)
}

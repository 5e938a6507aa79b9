/**
 * What the type of a state graph knows: its channels, its nodes, and where its nodes say they go. Only types: they are
 * what makes a wrong update, a wrong target or a wrong edge not compile.
 */
import type { AnyRunnable, InputOf, OutputOf, Policy, StepCall } from '../../engine/definition.ts'
import type { Channels, StateOf, UpdateOf } from './channel.ts'
import type { END, Goto, Raised, Send } from './result.ts'

export interface Shape {
  readonly channels: Channels
  /** By id: what the node is given besides the state. */
  readonly nodes: object
  /** Where nodes go, each an Aim. */
  readonly wanted: unknown
}

/** A node that is given the state and nothing else. */
export interface Plain {
  readonly takes: 'state'
}

export interface Aim<Id, Item> {
  readonly id: Id
  readonly item: Item
}

export type StateIn<Known extends Shape> = StateOf<Known['channels']>
export type UpdateIn<Known extends Shape> = UpdateOf<Known['channels']>

type Unsignalled<Known extends Shape> =
  | UpdateIn<Known>
  | Goto<string | Send, UpdateIn<Known>>
  | readonly Send[]
  | undefined
  | void
type Result<Known extends Shape> = Unsignalled<Known> | Raised<Unsignalled<Known>>
/** What a function of a node may return. */
export type Returned<Known extends Shape> = Result<Known> | Promise<Result<Known>>

type UpdatesIn<Given> =
  Given extends Promise<infer Value>
    ? UpdatesIn<Value>
    : Given extends Raised<infer Inner>
      ? UpdatesIn<Inner>
      : Given extends Goto<infer _To, infer Update>
        ? Update
        : Given extends readonly unknown[]
          ? never
          : Given extends object
            ? Given
            : never
type KeysOf<One> = One extends object ? keyof One : never
type NotChannels<Known extends Shape, Given> = Exclude<KeysOf<UpdatesIn<Given>>, keyof Known['channels']>

/** Added to the type of a function whose updates name only channels: nothing. To another: something it does not have. */
export type Checked<Known extends Shape, Given> = [NotChannels<Known, Given>] extends [never]
  ? unknown
  : { readonly 'there is no channel': NotChannels<Known, Given> }

type AimOf<To> = To extends Send<infer Id, infer Item> ? Aim<Id, Item> : To extends string ? Aim<To, Plain> : never
/** Where a function goes. */
export type AimsOf<Given> =
  Given extends Promise<infer Value>
    ? AimsOf<Value>
    : Given extends Raised<infer Inner>
      ? AimsOf<Inner>
      : Given extends Goto<infer To, infer _Update>
        ? AimOf<To>
        : Given extends readonly (infer One)[]
          ? AimOf<One>
          : never

/** An id that is only known as text is looked up when the node has run. */
type Missed<Known extends Shape, Wanted> =
  Wanted extends Aim<infer Id, infer Item>
    ? string extends Id
      ? never
      : Id extends typeof END
        ? never
        : Id extends keyof Known['nodes']
          ? [Item] extends [Known['nodes'][Id]]
            ? never
            : Id
          : Id
    : never

/** The targets that are no nodes, or that are given the wrong thing. */
export type Unmet<Known extends Shape> = Missed<Known, Known['wanted']>

/** What a graph must be to be compiled. */
export type Whole<Known extends Shape> = [Unmet<Known>] extends [never]
  ? unknown
  : `no node '${Unmet<Known> & string}' that takes what it is given`

export interface With<Known extends Shape, Id extends string, Item, Given> extends Shape {
  readonly channels: Known['channels']
  readonly nodes: Known['nodes'] & { readonly [Key in Id]: Item }
  readonly wanted: Known['wanted'] | AimsOf<Given>
}

/** The same channels, and no nodes yet. */
export interface Fresh<Known extends Shape> extends Shape {
  readonly channels: Known['channels']
  readonly nodes: {}
  readonly wanted: never
}

export type IdIn<Known extends Shape> = keyof Known['nodes'] & string
/** Nodes that an edge can lead to. */
export type PlainIn<Known extends Shape> = {
  [Id in IdIn<Known>]: Known['nodes'][Id] extends Plain ? Id : never
}[IdIn<Known>]
/** Items for the nodes that take some. */
export type SendIn<Known extends Shape> = {
  [One in Exclude<IdIn<Known>, PlainIn<Known>>]: Send<One, Known['nodes'][One]>
}[Exclude<IdIn<Known>, PlainIn<Known>>]

/** A new id, or a text that says what is wrong with it. */
export type NewId<Known extends Shape, Id extends string> = Id extends keyof Known['nodes']
  ? `there is a node '${Id}' already`
  : Id

export interface StateNodeOptions<Known extends Shape> {
  /** How its steps are run: attempts, backoff, timeout, effect, and onError with an update to go on with. */
  readonly policy?: Policy<Result<Known>>
  /** Where its goto leads, for those who look at the graph. */
  readonly to?: readonly string[]
}

/** For a node, a definition or a name: what it is given, and what becomes of what it returns. Both must be pure. */
export type Mapped<
  Known extends Shape,
  One extends AnyRunnable | string,
  Given,
  Subject extends readonly unknown[] = [],
> = StateNodeOptions<Known> & {
  readonly update: ((output: OutputOf<One>, state: StateIn<Known>) => Given) & Checked<Known, Given>
} & (undefined extends InputOf<One>
    ? { readonly input?: (...given: [...Subject, state: StateIn<Known>]) => InputOf<One> }
    : { readonly input: (...given: [...Subject, state: StateIn<Known>]) => InputOf<One> })

/** A node as a function of the state. */
export type StateFunction<Known extends Shape, Given> = ((state: StateIn<Known>, call: StepCall) => Given) &
  Checked<Known, Given>
/** The same for a node that is given something besides the state. */
export type SubjectFunction<Known extends Shape, Subject, Given> = ((
  subject: Subject,
  state: StateIn<Known>,
  call: StepCall,
) => Given) &
  Checked<Known, Given>

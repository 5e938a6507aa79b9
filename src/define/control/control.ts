/**
 * What control nodes are made of. A control node is a definition that runs others: in a graph, in a workflow or alone.
 * Each lives in a file of its own, with its form as data; `index.ts` lists them.
 */
import { NerveError, describe } from '../../base/nerve-error.ts'
import type { Schema } from '../../base/schema.ts'
import type {
  AnyDefinition,
  AnyRunnable,
  Context,
  Definition,
  Names,
  Outline,
  OutlineEdge,
  RunOptions,
} from '../../engine/definition.ts'
import { isDefinition, isNode } from '../../engine/run-node.ts'
import { isLabel } from '../../engine/scope.ts'
import { forkNodes } from '../../engine/fork-nodes.ts'
import { outlineOf } from '../outline.ts'
import type { Part } from './fit.ts'

/** How often a loop may go round when its author says nothing. */
export const MAX_ITERATIONS = 100

export interface ControlParts<Input, Output> {
  readonly kind: string
  readonly id: string
  readonly run: (ctx: Context<Input>, input: Input) => Promise<Output>
  /** What it runs, by the part it plays: `body`, `then`, `case a`. */
  readonly parts: Readonly<Record<string, Part>>
  /** Those of them that it runs each time, because nothing decides about them. */
  readonly always?: readonly Part[]
  readonly note?: string
  /** What decides between the parts, drawn before them. */
  readonly choice?: Outline
  readonly edges?: readonly OutlineEdge[]
  /** What is wrong with its options, each said so that it can be mended. */
  readonly problems?: readonly string[]
  /** What is wrong with how its parts go together, found without running it. */
  readonly check?: (names: Names) => readonly string[]
  /** It as data, for specs. Throws what cannot be written down. */
  readonly write?: (write: SpecWriter) => Readonly<Record<string, unknown>>
  /** The same again under another id, with other nodes for its parts. */
  readonly copy?: (id: string, swap: Swap) => AnyDefinition
  /** What it makes known by name while it runs. */
  readonly makes?: () => ReadonlyMap<string, AnyRunnable>
}

/** What stands for a part in a copy: the part itself, or a copy of it. */
export type Swap = <One extends Part>(node: One) => One

/** Writes parts of a control node as data. */
export interface SpecWriter {
  /** A node by its name, or a definition as data. */
  node(node: Part): unknown
  /** The text of a function made by `expr`; for any other function it notes that `what` cannot be written down. */
  expression(what: string, make: unknown): unknown
  /** The JSON Schema that a schema was made of; for any other it notes that `what` cannot be written down. */
  schema(what: string, schema: Schema): unknown
}

/** Reads parts of a control node from data. */
export interface SpecReader {
  node(data: unknown): Part
  expression(text: unknown): (facts: object) => unknown
  /** A schema from a JSON Schema. */
  schema(data: unknown): Schema
}

/** A control node as data: the name of its form, a JSON Schema of its fields, and how it is made of them. */
export interface ControlForm {
  readonly kind: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly required: readonly string[]
  readonly read: (data: Readonly<Record<string, unknown>>, reader: SpecReader) => AnyDefinition
}

export interface ControlNode<Input = unknown, Output = unknown> extends Definition<Input, Output> {
  outline(): Outline
  check(names: Names): readonly string[]
  inner(): readonly Part[]
  readonly write?: (write: SpecWriter) => Readonly<Record<string, unknown>>
}

export function controlNode<Input, Output>(made: ControlParts<Input, Output>): ControlNode<Input, Output> {
  const { kind, id, run, parts, always, note, choice, edges, problems = [], check, write, copy, makes } = made
  if (!isLabel(id))
    throw new NerveError(
      'bad-definition',
      `${JSON.stringify(id)} is not an id for a ${kind}. Use 1 to 200 characters without '/', '#' and line breaks.`,
    )
  const wrong = [
    ...problems,
    ...Object.entries(parts).flatMap(([part, node]) =>
      typeof node === 'string' || isNode(node) || isDefinition(node)
        ? []
        : [`${part} is not a node or a definition, or the name of one.`],
    ),
  ]
  if (wrong.length > 0)
    throw new NerveError('bad-definition', `${kind} '${id}': ${wrong.join(' ')}`, { data: { problems: wrong } })
  return {
    kind,
    name: id,
    options: {},
    run,
    inner: () => Object.values(parts),
    ...(always === undefined ? {} : { always: () => always }),
    check: (names) => [
      ...Object.entries(parts).flatMap(([part, node]) => checkPart(part, node, names)),
      ...(check?.(names) ?? []),
    ],
    outline: () => ({
      id,
      kind,
      ...(note === undefined || note === '' ? {} : { note }),
      ...(edges === undefined ? {} : { edges }),
      parts: [
        ...(choice === undefined ? [] : [choice]),
        ...Object.entries(parts).map(([part, node]) => outlinePart(part, node)),
      ],
    }),
    ...(copy === undefined ? {} : { fork: (name) => copy(name, swapFor(parts, name)) }),
    ...(write === undefined ? {} : { write }),
    ...(makes === undefined ? {} : { makes }),
  }
}

function swapFor(parts: Readonly<Record<string, Part>>, name: string): Swap {
  const copies = forkNodes(Object.values(parts), name)
  return (node) => (copies.get(node) ?? node) as typeof node
}

function checkPart(part: string, node: Part, names: Names): readonly string[] {
  if (typeof node === 'string')
    return names.get(node) === undefined ? [`${part} refers to the node '${node}', which is not known here.`] : []
  if (isNode(node)) return []
  return (node.check?.(names) ?? []).map((problem) => `in ${part}: ${problem}`)
}

function outlinePart(part: string, node: Part): Outline {
  const inside = outlineOf(node)
  const { id, kind, note } = inside
  // What is already said is not said again.
  const more = [id, note].filter((text) => text !== undefined && text !== part && text !== kind)
  const { note: _note, ...rest } = inside
  return { ...rest, id: part, ...(more.length === 0 ? {} : { note: [...new Set(more)].join(', ') }) }
}

/** What functions of a control node are told besides their input. */
export interface ControlFacts<Input = unknown> {
  readonly input: Input
  readonly params: Readonly<Record<string, unknown>>
}

/** Runs a part, given by value or by name. */
export function runPart<Output>(
  ctx: Context,
  part: Part,
  input: unknown,
  options?: RunOptions<Output>,
): Promise<Output> {
  return ctx.run<Output>(part as string, input, options)
}

/** What a condition of a loop sees. */
export interface LoopState<Value = unknown> {
  /** How many iterations have ended. */
  readonly iteration: number
  /** The output of the last iteration; before the first, the input. */
  readonly value: Value
  /** The outputs of all iterations, in order. */
  readonly history: readonly Value[]
  readonly params: Readonly<Record<string, unknown>>
}

export interface LoopResult<Value = unknown> {
  readonly value: Value
  readonly iterations: number
  /** Why it ended: as its condition said, after its times, or because it reached maxIterations. */
  readonly ended: 'condition' | 'times' | 'limit'
}

/** Says loudly that a loop was cut off. */
export function limitReached(ctx: Context, id: string, iterations: number): void {
  ctx.emit('limit-reached', { node: id, iterations })
}

const PURE: unique symbol = Symbol('pure')

/** A function that gives the same for the same, such as an expression: what it decides need not be recorded. */
export interface Pure {
  readonly [PURE]: string
}

/** Marks a function as pure, with the text that it was made of. */
export function pure<Make extends (...given: never[]) => unknown>(make: Make, source: string): Make & Pure {
  return Object.assign(make, { [PURE]: source })
}

/** The text of a pure function, or undefined. */
export function sourceOf(make: unknown): string | undefined {
  return typeof make === 'function' ? (make as unknown as Partial<Pure>)[PURE] : undefined
}

/** The schema of a field that holds an expression, with the names of what it sees. */
export function expressionField(...facts: readonly string[]): Readonly<Record<string, unknown>> {
  return { $ref: '#/$defs/expression', facts }
}

/** The facts that conditions of loops see. */
export const LOOP_FACTS = ['iteration', 'value', 'history', 'params'] as const

/** An expression as the function that a control node wants; `facts` names what the expression sees. */
export function expressed<Given extends unknown[]>(
  reader: SpecReader,
  text: unknown,
  facts: (...given: Given) => object,
): (...given: Given) => never {
  const evaluate = reader.expression(text)
  return pure((...given: Given) => evaluate(facts(...given)) as never, sourceOf(evaluate) ?? String(text))
}

/** The same for a condition: anything but true or false is an error, and not a guess. */
export function expressedCondition<Given extends unknown[]>(
  reader: SpecReader,
  text: unknown,
  facts: (...given: Given) => object,
): (...given: Given) => boolean {
  const evaluate = expressed(reader, text, facts) as (...given: Given) => unknown
  const source = sourceOf(evaluate) as string
  return pure((...given: Given) => {
    const value = evaluate(...given)
    if (typeof value === 'boolean') return value
    throw new NerveError('bad-expression', `The condition ${source} gives ${describe(value)}, not true or false.`, {
      data: { expression: source },
    })
  }, source)
}

/** The options that data gives, without those that it leaves out. */
export function given<Options extends object>(options: Options): Partial<Defined<Options>> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never
}

type Defined<Options> = { [Key in keyof Options]: Exclude<Options[Key], undefined> }

/**
 * What a function decides, recorded: a replay decides the same, whatever the function looks at. When it throws, there is
 * no decision to go on with, so that counts in every run, whatever its policy.
 */
export async function decide<Value>(
  ctx: Context,
  label: string,
  make: () => Promise<Value> | Value,
  of: unknown,
): Promise<Value> {
  return sourceOf(of) === undefined ? ctx.step(label, make, { onError: 'fail' }) : make()
}

export function checkLimit(limit: unknown, what = 'maxIterations'): string[] {
  return Number.isInteger(limit) && (limit as number) >= 1
    ? []
    : [`${what} is ${String(limit)}; give a whole number from 1.`]
}

export function checkFunction(what: string, make: unknown): string[] {
  return typeof make === 'function' ? [] : [`${what} is not a function.`]
}

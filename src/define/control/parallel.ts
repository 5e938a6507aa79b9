import { checkKnown } from '../../base/check-known.ts'
import type { Context, OutputOf } from '../../engine/definition.ts'
import { isLabel } from '../../engine/scope.ts'
import {
  checkFunction,
  controlNode,
  decide,
  expressed,
  expressionField,
  given,
  runPart,
  type ControlFacts,
  type ControlForm,
  type ControlNode,
  type SpecReader,
  type SpecWriter,
  type Swap,
} from './control.ts'
import type { FitTogether, OneOutputOf, OutputsOf, Part, Parts, TakenByAll } from './fit.ts'
import { sharedProblems } from './overlap.ts'
import { noted, runStrictly, settle, type Settled } from './settled.ts'

/** What ends it: all branches, the first to end, the first to succeed, or all of them however they end. */
export type ParallelMode = 'all' | 'first' | 'any' | 'settle'

interface Results<All> {
  readonly all: OutputsOf<All>
  readonly first: OneOutputOf<All>
  readonly any: OneOutputOf<All>
  readonly settle: { -readonly [Key in keyof All]: Settled<OutputOf<All[Key]>> }
}

export interface ParallelOptions<All, Mode extends ParallelMode, Merged> {
  readonly id?: string
  /** By name or as a list. All get the same input. */
  readonly branches: All & FitTogether<All>
  /** Default `all`. With `first` and `any` the other branches are stopped, and the result is what the winner gave. */
  readonly mode?: Mode
  /** Makes one result of the results. */
  readonly merge?: (results: Results<All>[Mode], facts: ControlFacts<TakenByAll<All>>) => Merged | Promise<Merged>
}

/**
 * Runs several at the same time.
 *
 * ```ts
 * import { defineNode } from 'nerve'
 * import { Parallel } from 'nerve/control'
 *
 * const words = defineNode('words', (text: string) => text.split(' ').length)
 * const letters = defineNode('letters', (text: string) => text.length)
 * export default Parallel({ id: 'measure', branches: { words, letters }, merge: (found) => found.letters / found.words })
 * ```
 */
export function Parallel<const All extends Parts, Mode extends ParallelMode = 'all', Merged = Results<All>[Mode]>(
  options: ParallelOptions<All, Mode, Merged>,
): ControlNode<TakenByAll<All>, Merged> {
  checkKnown('Parallel', options, ['id', 'branches', 'mode', 'merge'])
  const { id = 'parallel', branches, mode = 'all', merge } = options
  const parts = partsOf(branches)
  return controlNode<TakenByAll<All>, Merged>({
    kind: 'parallel',
    id,
    parts,
    // Where one branch ends the others, it may end what would go on.
    ...(mode === 'all' || mode === 'settle' ? { always: Object.values(parts) } : {}),
    note: mode,
    problems: [
      ...branchProblems(branches),
      ...(RUN[mode] === undefined ? [`mode is ${JSON.stringify(mode)}; give all, first, any or settle.`] : []),
      ...(merge === undefined ? [] : checkFunction('merge', merge)),
    ],
    check: (names) => sharedProblems(parts, names),
    async run(ctx, input) {
      const results = (await RUN[mode](ctx, branches, input)) as Results<All>[Mode]
      if (merge === undefined) return results as Merged
      return decide(ctx, 'merge', () => merge(results, { input, params: ctx.params }), merge)
    },
    write: (write) => ({
      branches: writeBranches(branches, write),
      ...given({ mode: options.mode }),
      ...(merge === undefined ? {} : { merge: write.expression('merge', merge) }),
    }),
    copy: (name, swap) =>
      Parallel<All, Mode, Merged>({ ...options, id: name, branches: swapBranches(branches, swap) as typeof branches }),
  })
}

const RUN: Readonly<Record<ParallelMode, (ctx: Context, branches: Parts, input: unknown) => Promise<unknown>>> = {
  all: (ctx, branches, input) => together(ctx, branches, (node) => runPart(ctx, node, input)),
  settle: (ctx, branches, input) => together(ctx, branches, (node) => settle(ctx, () => runStrictly(ctx, node, input))),
  first: (ctx, branches, input) =>
    ctx.race(
      namesOf(branches).map(
        ({ node, label }) =>
          () =>
            runPart(ctx, node, input, label),
      ),
      { label: 'branches' },
    ),
  any: (ctx, branches, input) =>
    ctx.race(
      namesOf(branches).map(
        ({ node, label }) =>
          () =>
            noted(ctx, () => runStrictly(ctx, node, input, label)),
      ),
      { label: 'branches', until: 'success' },
    ),
}

/** Each branch is an item of a map: its result is recorded under its name, and it never runs again. */
async function together(ctx: Context, branches: Parts, run: (node: Part) => Promise<unknown>): Promise<unknown> {
  const named = namesOf(branches)
  const results = await ctx.map(named, ({ node }) => run(node), { label: 'branches', key: ({ name }) => name })
  return Array.isArray(branches) ? results : Object.fromEntries(named.map(({ name }, at) => [name, results[at]]))
}

interface Named {
  readonly name: string
  readonly node: Part
  /** A branch with a name runs under it; one of a list under the name of its node. */
  readonly label: { readonly label?: string }
}

export function namesOf(branches: Parts): Named[] {
  const isList = Array.isArray(branches)
  return Object.entries(branches).map(([name, node]) => ({ name, node, label: isList ? {} : { label: name } }))
}

export function partsOf(branches: Parts): Readonly<Record<string, Part>> {
  return Object.fromEntries(Object.entries(branches ?? {}).map(([name, node]) => [name, node]))
}

export function branchProblems(branches: unknown): string[] {
  if (typeof branches !== 'object' || branches === null)
    return ['branches are not given by name or as a list: branches: { name: node }.']
  const names = Object.keys(branches)
  if (names.length === 0) return ['it has no branches. Add one: branches: { name: node }.']
  return names.flatMap((name) =>
    isLabel(name)
      ? []
      : [`${JSON.stringify(name)} is not a name for a branch: use 1 to 200 characters without '/' and '#'.`],
  )
}

export function writeBranches(branches: Parts, write: SpecWriter): unknown {
  return eachBranch(branches, (node) => write.node(node))
}

export function readBranches(data: unknown, reader: SpecReader): Parts {
  return eachBranch(data as Parts, (node) => reader.node(node)) as Parts
}

export function swapBranches(branches: Parts, swap: Swap): Parts {
  return eachBranch(branches, swap) as Parts
}

function eachBranch(branches: Parts, make: (node: Part) => unknown): unknown {
  if (Array.isArray(branches)) return branches.map(make)
  return Object.fromEntries(Object.entries(branches).map(([name, node]) => [name, make(node)]))
}

/** Branches as data: by name or as a list. */
export const BRANCHES = {
  oneOf: [
    { type: 'object', minProperties: 1, additionalProperties: { $ref: '#/$defs/node' } },
    { type: 'array', minItems: 1, items: { $ref: '#/$defs/node' } },
  ],
} as const

export const parallelForm: ControlForm = {
  kind: 'parallel',
  fields: {
    branches: BRANCHES,
    mode: { enum: ['all', 'first', 'any', 'settle'] },
    merge: expressionField('results', 'input', 'params'),
  },
  required: ['branches'],
  read: ({ id, branches, mode, merge }, reader) =>
    Parallel<Parts, ParallelMode, unknown>({
      ...given({ id: id as string | undefined, mode: mode as ParallelMode | undefined }),
      ...(merge === undefined
        ? {}
        : { merge: expressed(reader, merge, (results: unknown, facts: ControlFacts) => ({ ...facts, results })) }),
      branches: readBranches(branches, reader),
    }),
}

/** Random control trees: as data, as control nodes, and as a plain function that says what must come out. */
import fc from 'fast-check'
import { defineNode, workflow, type Definition, type Runnable } from 'nerve'
import {
  Branch,
  Gate,
  Loop,
  Map as MapNode,
  Parallel,
  Race,
  Reduce,
  Subgraph,
  Switch,
  While,
  type ItemPolicy,
  type Settled,
} from 'nerve/control'
import { graph } from 'nerve/graph'
import { pure } from '../../src/define/control/control.ts'

/** Every tree makes a number of a number, or fails. `noted` says that its functions are recorded, and not pure. */
export type Tree =
  | { readonly kind: 'leaf'; readonly by: number; readonly fails: number }
  | { readonly kind: 'broken' }
  | { readonly kind: 'gate'; readonly answer: 'yes' | 'no'; readonly noted: boolean }
  | {
      readonly kind: 'while'
      readonly body: Tree
      readonly below: number
      readonly most: number
      readonly noted: boolean
    }
  | {
      readonly kind: 'loop'
      readonly body: Tree
      readonly times: number
      readonly above: number
      readonly noted: boolean
      readonly list: boolean
    }
  | { readonly kind: 'branch'; readonly then: Tree; readonly else?: Tree; readonly noted: boolean }
  | { readonly kind: 'switch'; readonly cases: readonly Tree[]; readonly default: Tree; readonly noted: boolean }
  | {
      readonly kind: 'map'
      readonly body: Tree
      readonly count: number
      readonly onError: ItemPolicy
      readonly concurrency: number
      readonly keyed: boolean
    }
  | { readonly kind: 'reduce'; readonly body: Tree; readonly count: number }
  | { readonly kind: 'all' | 'settle' | 'fan' | 'chain'; readonly items: readonly Tree[]; readonly noted: boolean }
  | { readonly kind: 'any' | 'first' | 'race'; readonly winner: Tree; readonly at: number; readonly losers: number }
  | { readonly kind: 'code'; readonly body: Tree }

const LIMIT = 1_000
const FAILED = -1

/** The paths of the steps that really ran, in one life of the process. */
export const ran: string[] = []

class Broken extends Error {}

/** What the tree makes of a number. */
export function interpret(tree: Tree, n: number): number {
  switch (tree.kind) {
    case 'leaf':
      return calculate(n, tree.by)
    case 'broken':
      throw new Broken('broken')
    case 'gate':
      return tree.answer === 'yes' ? n + 1 : n
    case 'while': {
      let value = n
      for (let i = 0; i < tree.most && value < tree.below; i += 1) value = interpret(tree.body, value)
      return value
    }
    case 'loop':
      return interpretLoop(tree, n)
    case 'branch':
      if (n % 2 === 0) return interpret(tree.then, n)
      return tree.else === undefined ? n : interpret(tree.else, n)
    case 'switch':
      return interpret(tree.cases[n % (tree.cases.length + 1)] ?? tree.default, n)
    case 'map': {
      const one = tree.onError === 'stop' ? interpret : attempt
      return total(range(n, tree.count).map((item) => one(tree.body, item)))
    }
    case 'reduce':
      return range(n, tree.count).reduce((sum, item) => interpret(tree.body, total([sum, item])), 1)
    case 'chain':
      return tree.items.reduce((value, item) => interpret(item, value), n)
    case 'settle':
      return total(tree.items.map((item) => attempt(item, n)))
    case 'all':
    case 'fan':
      return total(tree.items.map((item) => interpret(item, n)))
    case 'race':
      return interpret(tree.winner, n) + (tree.at % (tree.losers + 1))
    case 'any':
    case 'first':
      return interpret(tree.winner, n)
    default:
      return calculate(interpret(tree.body, n), 1)
  }
}

function interpretLoop(tree: Extract<Tree, { kind: 'loop' }>, n: number): number {
  const outputs: number[] = []
  let value = n
  do {
    value = interpret(tree.body, value)
    outputs.push(value)
  } while (outputs.length < tree.times && value <= tree.above)
  return tree.list ? total(outputs) : value
}

function attempt(tree: Tree, n: number): number {
  try {
    return interpret(tree, n)
  } catch (error) {
    if (error instanceof Broken) return FAILED
    throw error
  }
}

function calculate(n: number, by: number): number {
  return (n * 3 + by) % LIMIT
}

function range(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => from + index)
}

function total(numbers: readonly (number | undefined)[]): number {
  return numbers.reduce<number>((sum, one) => sum * 7 + (one ?? FAILED), 0) % LIMIT
}

type Numeric = Runnable<number, number>

/** A tree as a definition that can be run by itself. */
export function definitionOf(tree: Tree, errorPolicy: 'stop' | 'skip'): Definition<number, number> {
  const whole = nodeOf(tree)
  return workflow('tree', { errorPolicy }, (ctx, n: number) => ctx.run(whole, n))
}

/** The tree as control nodes. */
function nodeOf(tree: Tree): Numeric {
  switch (tree.kind) {
    case 'leaf':
      return leafOf(tree.by, tree.fails)
    case 'broken':
      return defineNode('broken', (_: number, { path, attempt: number }): number => {
        ran.push(`${path}@${number}`)
        throw new Broken('broken')
      })
    case 'gate':
      return gateOf(tree)
    case 'while':
      return valueOf(
        While({
          body: nodeOf(tree.body),
          condition: marked(tree, ({ value }: { value: number }) => value < tree.below),
          maxIterations: tree.most,
        }),
      )
    case 'loop':
      return loopOf(tree)
    case 'branch':
      return Branch({
        condition: marked(tree, (n: number) => n % 2 === 0),
        then: nodeOf(tree.then),
        ...(tree.else === undefined ? {} : { else: nodeOf(tree.else) }),
      })
    case 'switch':
      return switchOf(tree)
    case 'map':
      return mapOf(tree)
    case 'reduce':
      return reduceOf(tree)
    case 'chain':
      return chainOf(tree.items)
    case 'fan':
      return fanOf(tree.items)
    case 'all':
      return Parallel({
        branches: byName(tree.items),
        merge: marked(tree, (found: Readonly<Record<string, number>>) => total(Object.values(found))),
      })
    case 'settle':
      return Parallel({
        branches: tree.items.map(nodeOf),
        mode: 'settle',
        merge: marked(tree, (found: readonly Settled<number>[]) => total(found.map(outcome))),
      })
    case 'any':
      return Parallel({ branches: withLosers(tree, nodeOf({ kind: 'broken' })), mode: 'any' })
    case 'first':
      return Parallel({ branches: withLosers(tree, never), mode: 'first' })
    case 'race':
      return Subgraph({
        body: Race({ branches: withLosers(tree, never) }),
        output: pure(({ value, winner }: { value: number; winner: number }) => value + winner, 'value + winner'),
      })
    default:
      return codeOf(tree.body)
  }
}

const never = workflow('never', async (ctx, _: number) => ctx.waitFor<number>('never'))

function marked<Make extends (...given: never[]) => unknown>(tree: { readonly noted: boolean }, make: Make): Make {
  return tree.noted ? make : pure(make, 'text')
}

function leafOf(by: number, fails: number): Numeric {
  return defineNode(
    'leaf',
    async (n: number, call) => {
      ran.push(`${call.path}@${call.attempt}`)
      await Promise.resolve()
      if (call.attempt <= fails) throw new Error('again')
      return calculate(n, by)
    },
    { policy: { attempts: fails + 1, backoff: 10 } },
  )
}

function gateOf(tree: Extract<Tree, { kind: 'gate' }>): Numeric {
  return Subgraph({
    body: Gate({ prompt: marked(tree, () => JSON.stringify(tree.answer)), choices: ['yes', 'no'] }),
    input: marked(tree, (n: number) => n),
    output: marked(tree, (answer: 'yes' | 'no', { input }: { input: number }) =>
      answer === 'yes' ? input + 1 : input,
    ),
  })
}

function loopOf(tree: Extract<Tree, { kind: 'loop' }>): Numeric {
  const { body, times, above, list } = tree
  return Subgraph({
    body: Loop({
      body: nodeOf(body),
      times,
      until: marked(tree, ({ value }: { value: number }) => value > above),
      accumulate: list,
    }),
    output: pure(({ value }: { value: unknown }) => (list ? total(value as number[]) : (value as number)), 'value'),
  })
}

function valueOf(body: Definition<number, { readonly value: number }>): Numeric {
  return Subgraph({ body, output: pure(({ value }: { value: number }) => value, 'value') })
}

function switchOf(tree: Extract<Tree, { kind: 'switch' }>): Numeric {
  return Switch({
    key: marked(tree, (n: number) => `b${n % (tree.cases.length + 1)}`),
    cases: byName(tree.cases),
    default: nodeOf(tree.default),
  })
}

function mapOf({ body, count, onError, concurrency, keyed }: Extract<Tree, { kind: 'map' }>): Numeric {
  return Subgraph({
    input: pure((n: number) => range(n, count), 'items'),
    body: MapNode({
      body: nodeOf(body),
      onError,
      concurrency,
      ...(keyed ? { key: (item: number) => `item ${item}` } : {}),
    }),
    output: pure(
      (results: readonly unknown[]) =>
        total(results.map((one) => (onError === 'collect' ? outcome(one as never) : (one as number)))),
      'total',
    ),
  })
}

function reduceOf({ body, count }: Extract<Tree, { kind: 'reduce' }>): Numeric {
  const each = Subgraph({
    id: 'each',
    body: nodeOf(body),
    input: ({ accumulator, item }: { accumulator: number; item: number }) => total([accumulator, item]),
  })
  return Subgraph({ input: pure((n: number) => range(n, count), 'items'), body: Reduce({ body: each, initial: 1 }) })
}

interface Steps {
  step(id: string, node: Numeric, options: object): void
  returns(make: (results: Readonly<Record<string, number>>) => number): Definition<number, number>
}

function chainOf(items: readonly Tree[]): Numeric {
  const made = graph<number>('chain') as unknown as Steps
  for (const [at, item] of items.entries()) {
    const before = `s${at - 1}`
    made.step(
      `s${at}`,
      nodeOf(item),
      at === 0
        ? { inputFn: (_: unknown, facts: { input: number }) => facts.input }
        : { after: [before], inputFn: (found: Record<string, number>) => found[before] },
    )
  }
  return made.returns((found) => found[`s${items.length - 1}`] ?? Number.NaN)
}

function fanOf(items: readonly Tree[]): Numeric {
  const made = graph<number>('fan', { maxParallel: 2 }) as unknown as Steps
  const ids = items.map((_, at) => `s${at}`)
  for (const [at, item] of items.entries())
    made.step(`s${at}`, nodeOf(item), { inputFn: (_: unknown, facts: { input: number }) => facts.input })
  return made.returns((found) => total(ids.map((id) => found[id])))
}

function codeOf(body: Tree): Numeric {
  const inner = nodeOf(body)
  return workflow('code', async (ctx, n: number) => {
    const made = await ctx.run(inner, n)
    return ctx.step('finish', ({ path, attempt: number }) => {
      ran.push(`${path}@${number}`)
      return calculate(made, 1)
    })
  })
}

function withLosers(
  { winner, at, losers }: Extract<Tree, { kind: 'any' | 'first' | 'race' }>,
  loser: Numeric,
): Numeric[] {
  const others = Array.from({ length: losers }, () => loser)
  return others.toSpliced(at % (losers + 1), 0, nodeOf(winner))
}

function byName(items: readonly Tree[]): Record<string, Numeric> {
  return Object.fromEntries(items.map((item, at) => [`b${at}`, nodeOf(item)]))
}

function outcome(settled: Settled<number>): number {
  return settled.status === 'done' ? settled.value : FAILED
}

/** Trees of bounded size. */
export function trees(): fc.Arbitrary<Tree> {
  const noted = fc.boolean()
  const few = fc.integer({ min: 1, max: 3 })
  const number = fc.integer({ min: 0, max: 99 })
  const { tree } = fc.letrec<{ tree: Tree }>((tie) => {
    const body = tie('tree')
    const items = fc.array(body, { minLength: 1, maxLength: 3 })
    const is = <Kind extends string>(...kinds: [Kind, ...Kind[]]): fc.Arbitrary<Kind> => fc.constantFrom(...kinds)
    const leaves: fc.Arbitrary<Tree>[] = [
      fc.record({ kind: is('leaf'), by: number, fails: fc.constantFrom(0, 0, 0, 0, 1) }),
      fc.record({ kind: is('gate'), answer: is('yes', 'no'), noted }),
      fc.record({ kind: is('broken') }),
    ]
    const nodes: fc.Arbitrary<Tree>[] = [
      fc.record({ kind: is('while'), body, below: number, most: few, noted }),
      fc.record({ kind: is('loop'), body, times: few, above: number, noted, list: fc.boolean() }),
      fc.record({ kind: is('branch'), then: body, else: body, noted }, { requiredKeys: ['kind', 'then', 'noted'] }),
      fc.record({ kind: is('switch'), cases: items, default: body, noted }),
      fc.record({
        kind: is('map'),
        body,
        count: fc.integer({ min: 0, max: 3 }),
        onError: is('stop', 'skip', 'collect'),
        concurrency: few,
        keyed: fc.boolean(),
      }),
      fc.record({ kind: is('reduce'), body, count: fc.integer({ min: 0, max: 2 }) }),
      fc.record({ kind: is('all', 'settle'), items, noted }),
      fc.record({ kind: is('fan', 'chain'), items, noted }),
      fc.record({ kind: is('any', 'first', 'race'), winner: body, at: number, losers: fc.integer({ min: 0, max: 2 }) }),
      fc.record({ kind: is('code'), body }),
    ]
    return {
      tree: fc.oneof({ maxDepth: 4, depthSize: 'large', withCrossShrink: true }, leaves[0]!, ...leaves, ...nodes),
    }
  })
  return tree
}

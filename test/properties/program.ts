/** Random programs: as data, as a workflow that carries them out, and as a plain function that says what must come out. */
import fc from 'fast-check'
import { workflow, type Context } from 'nerve'

export type Program =
  | { readonly kind: 'step'; readonly id: string; readonly label: string; readonly fails: number }
  | { readonly kind: 'broken'; readonly id: string; readonly label: string; readonly way: Way }
  | { readonly kind: 'sleep'; readonly ms: number }
  | { readonly kind: 'ask'; readonly id: string; readonly answer: string }
  | { readonly kind: 'signal'; readonly id: string }
  | { readonly kind: 'value'; readonly of: 'now' | 'random' | 'uuid' }
  | { readonly kind: 'note'; readonly of: 'emit' | 'checkpoint'; readonly id: string }
  | { readonly kind: 'sequence' | 'all'; readonly items: readonly Program[] }
  | { readonly kind: 'map'; readonly items: readonly Program[]; readonly concurrency: number }
  | { readonly kind: 'race'; readonly winner: Program; readonly losers: number; readonly at: number }
  | { readonly kind: 'child'; readonly body: Program }

/** What is done about a step that always fails. */
type Way = 'catch' | 'skip' | 'fallback' | 'fallback-fails'

/** What really ran, by the id of the step, in one life of the process. */
export class Effects {
  readonly ran: string[] = []
}

let effects = new Effects()

/** Forgets what ran: a new process. */
export function newLife(): Effects {
  effects = new Effects()
  return effects
}

export const program = workflow('program', (ctx, input: { readonly body: Program }) => carryOut(ctx, input.body))
export const childProgram = workflow('child-program', (ctx, input: { readonly body: Program }) =>
  carryOut(ctx, input.body),
)

async function carryOut(ctx: Context<unknown>, one: Program): Promise<unknown> {
  switch (one.kind) {
    case 'step':
      return runStep(ctx, one)
    case 'broken':
      return runBroken(ctx, one)
    case 'sleep':
      return (await ctx.sleep(one.ms)) ?? 'slept'
    case 'ask':
      return ctx.ask(JSON.stringify(one.answer))
    case 'signal':
      return ctx.waitFor(one.id)
    case 'value':
      return typeof ctx[one.of]()
    case 'note':
      if (one.of === 'emit') ctx.emit(one.id)
      else await ctx.checkpoint(one.id)
      return one.id
    case 'sequence': {
      const results: unknown[] = []
      for (const item of one.items) results.push(await carryOut(ctx, item))
      return results
    }
    case 'all':
      return ctx.all(one.items.map((item) => () => carryOut(ctx, item)))
    case 'map':
      return ctx.map(one.items, (item) => carryOut(ctx, item), { concurrency: one.concurrency })
    case 'race':
      return ctx.race(branches(ctx, one))
    default:
      return ctx.child(childProgram, { body: one.body })
  }
}

function runStep(ctx: Context<unknown>, one: Extract<Program, { kind: 'step' }>): Promise<unknown> {
  return ctx.step(
    one.label,
    async ({ attempt }) => {
      effects.ran.push(one.id)
      await Promise.resolve()
      if (attempt <= one.fails) throw new Error(`${one.id} fails`)
      return one.id
    },
    { attempts: one.fails + 1, backoff: 10 },
  )
}

async function runBroken(ctx: Context<unknown>, one: Extract<Program, { kind: 'broken' }>): Promise<unknown> {
  const run = (): never => {
    effects.ran.push(one.id)
    throw new Error(`${one.id} is broken`)
  }
  const instead = (): string => {
    effects.ran.push(`${one.id}-instead`)
    if (one.way === 'fallback-fails') throw new Error(`${one.id} has no way out`)
    return `${one.id}-instead`
  }
  const onError =
    one.way === 'skip' ? { skip: `${one.id}-skipped` } : one.way === 'catch' ? ('fail' as const) : { fallback: instead }
  try {
    return await ctx.step<string>(one.label, run, { attempts: 2, backoff: 5, onError })
  } catch (error) {
    return `caught ${(error as Error).message}`
  }
}

function branches(ctx: Context<unknown>, one: Extract<Program, { kind: 'race' }>): (() => Promise<unknown>)[] {
  const losers = Array.from({ length: one.losers }, () => () => ctx.waitFor('never'))
  return losers.toSpliced(one.at % (one.losers + 1), 0, () => carryOut(ctx, one.winner))
}

/** What the program must give, whatever happens to the process. */
export function expected(one: Program): unknown {
  switch (one.kind) {
    case 'step':
      return one.id
    case 'broken':
      if (one.way === 'catch') return `caught ${one.id} is broken`
      if (one.way === 'skip') return `${one.id}-skipped`
      return one.way === 'fallback' ? `${one.id}-instead` : `caught ${one.id} has no way out`
    case 'sleep':
      return 'slept'
    case 'ask':
      return one.answer
    case 'signal':
      return `for ${one.id}`
    case 'value':
      return one.of === 'uuid' ? 'string' : 'number'
    case 'note':
      return one.id
    case 'race':
      return expected(one.winner)
    case 'child':
      return expected(one.body)
    default:
      return one.items.map(expected)
  }
}

/** How often each function of the program runs when nothing interrupts it. */
export function expectedRuns(one: Program, counts = new Map<string, number>()): Map<string, number> {
  if (one.kind === 'step') counts.set(one.id, one.fails + 1)
  else if (one.kind === 'broken') {
    counts.set(one.id, 2)
    if (one.way === 'fallback' || one.way === 'fallback-fails') counts.set(`${one.id}-instead`, 1)
  } else if ('items' in one) for (const item of one.items) expectedRuns(item, counts)
  else if (one.kind === 'race') expectedRuns(one.winner, counts)
  else if (one.kind === 'child') expectedRuns(one.body, counts)
  return counts
}

interface Shape {
  readonly children?: boolean
  readonly maxItems?: number
  readonly waits?: boolean
}

/** Programs of bounded size. Labels come from a small set, so that they are used again all the time. */
export function programs({ children = true, maxItems = 3, waits = true }: Shape = {}): fc.Arbitrary<Program> {
  const label = fc.constantFrom('a', 'b', 'c')
  const leaves: fc.Arbitrary<Program>[] = [
    fc.record({
      kind: fc.constant('step' as const),
      id: fc.constant(''),
      label,
      fails: fc.constantFrom(0, 0, 0, 1, 2),
    }),
    fc.record({
      kind: fc.constant('broken' as const),
      id: fc.constant(''),
      label,
      way: fc.constantFrom<Way>('catch', 'skip', 'fallback', 'fallback-fails'),
    }),
    fc.record({ kind: fc.constant('value' as const), of: fc.constantFrom('now', 'random', 'uuid') }),
    fc.record({
      kind: fc.constant('note' as const),
      of: fc.constantFrom('emit' as const, 'checkpoint' as const),
      id: fc.constant(''),
    }),
    ...(waits
      ? [
          fc.record({ kind: fc.constant('sleep' as const), ms: fc.integer({ min: 0, max: 100_000 }) }),
          fc.record({ kind: fc.constant('ask' as const), id: fc.constant(''), answer: fc.string({ maxLength: 5 }) }),
          fc.record({ kind: fc.constant('signal' as const), id: fc.constant('') }),
        ]
      : []),
  ]
  const { tree } = fc.letrec<{ tree: Program }>((tie) => {
    const items = fc.array(tie('tree'), { minLength: 1, maxLength: maxItems })
    const nodes: fc.Arbitrary<Program>[] = [
      fc.record({ kind: fc.constantFrom('sequence' as const, 'sequence' as const, 'all' as const), items }),
      fc.record({ kind: fc.constant('map' as const), items, concurrency: fc.integer({ min: 1, max: 3 }) }),
      fc.record({
        kind: fc.constant('race' as const),
        winner: tie('tree'),
        losers: fc.integer({ min: 0, max: 2 }),
        at: fc.nat(3),
      }),
      ...(children ? [fc.record({ kind: fc.constant('child' as const), body: tie('tree') })] : []),
    ]
    return { tree: fc.oneof({ maxDepth: 3, depthSize: 'medium', withCrossShrink: true }, ...leaves, ...nodes) }
  })
  const whole = fc.record({
    kind: fc.constantFrom('sequence' as const, 'all' as const),
    items: fc.array(tree, { minLength: 1, maxLength: maxItems + 1 }),
  })
  return whole.map((one) => named(one, { next: 0 }))
}

/** Gives every place of a program an id of its own. */
function named(one: Program, ids: { next: number }): Program {
  if ('items' in one) return { ...one, items: one.items.map((item) => named(item, ids)) }
  if (one.kind === 'race') return { ...one, winner: named(one.winner, ids) }
  if (one.kind === 'child') return { ...one, body: named(one.body, ids) }
  if (!('id' in one)) return one
  ids.next += 1
  return { ...one, id: `${one.kind}-${ids.next}` }
}

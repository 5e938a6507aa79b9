/** The order in which parallel work ends does not matter. */
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createHost, workflow, type Context } from 'nerve'
import { MemoryStore } from 'nerve/testing'
import { runs, within } from './settings.ts'

type Shape =
  | { readonly kind: 'work'; readonly label: string }
  | { readonly kind: 'all' | 'map' | 'sequence' | 'child' | 'plain'; readonly items: readonly Shape[] }

const { shape } = fc.letrec<{ shape: Shape }>((tie) => ({
  shape: fc.oneof(
    { maxDepth: 3, depthSize: 'medium' },
    fc.record({ kind: fc.constant('work' as const), label: fc.constantFrom('a', 'b') }),
    fc.record({
      kind: fc.constantFrom('all' as const, 'map' as const, 'sequence' as const, 'child' as const, 'plain' as const),
      items: fc.array(tie('shape'), { minLength: 1, maxLength: 4 }),
    }),
  ),
}))

interface Work {
  readonly name: string
  readonly end: () => void
}

/** Work that begins and ends when the test says so; its result is its place in the shape. */
let working: Work[] = []

async function carryOut(ctx: Context<unknown>, one: Shape, name: string): Promise<unknown> {
  if (one.kind === 'work') {
    return ctx.step(one.label, () => new Promise<string>((resolve) => working.push({ name, end: () => resolve(name) })))
  }
  const named = one.items.map((item, index) => ({ item, name: `${name}.${index}` }))
  switch (one.kind) {
    case 'all':
      return ctx.all(
        named.map(
          ({ item, name: inner }) =>
            () =>
              carryOut(ctx, item, inner),
        ),
      )
    case 'map':
      return ctx.map(named, ({ item, name: inner }) => carryOut(ctx, item, inner), { concurrency: 2 })
    case 'plain':
      // Plain promises only over steps called at once; anything deeper has its own scope.
      return Promise.all(
        named.map(({ item, name: inner }) =>
          item.kind === 'work' ? carryOut(ctx, item, inner) : Promise.resolve(inner),
        ),
      )
    case 'child':
      return ctx.child(inner, { items: one.items, name })
    default: {
      const results: unknown[] = []
      for (const { item, name: inside } of named) results.push(await carryOut(ctx, item, inside))
      return results
    }
  }
}

const inner = workflow('inner', (ctx, input: { items: readonly Shape[]; name: string }) =>
  carryOut(ctx, { kind: 'all', items: input.items }, input.name),
)
const outer = workflow('outer', (ctx, input: { shape: Shape }) => carryOut(ctx, input.shape, 'top'))

function right(one: Shape, name: string): unknown {
  if (one.kind === 'work') return name
  return one.items.map((item, index) =>
    one.kind === 'plain' && item.kind !== 'work' ? `${name}.${index}` : right(item, `${name}.${index}`),
  )
}

/** Runs the shape, and ends its work in the order that the picks say. Gives what came out, and every path with its value. */
async function play(one: Shape, picks: readonly number[]): Promise<{ result: unknown; values: Map<string, unknown> }> {
  working = []
  const host = await createHost({ store: new MemoryStore() })
  const run = await host.start(outer, { shape: one })
  let settled = false
  const result = run.result().finally(() => (settled = true))
  result.catch(() => undefined)
  for (let round = 0; !settled; round += 1) {
    for (let i = 0; i < 4; i += 1) await turn()
    const [next] = working.splice((picks[round % Math.max(1, picks.length)] ?? 0) % Math.max(1, working.length), 1)
    next?.end()
    if (round > 2_000) throw new Error('it does not end')
  }
  const values = new Map<string, unknown>()
  for (const row of await host.runs({ children: true })) {
    for (const { event } of await host.journal(row.run)) {
      if (event.type === 'step-completed')
        values.set(`${row.definition}:${event.path}=${String(event.output)}`, event.output)
    }
  }
  await host.close()
  return { result: await result, values: new Map([...values].toSorted(([a], [b]) => (a < b ? -1 : 1))) }
}

describe('parallel work', () => {
  it('gives the same results at the same paths in whatever order it ends', async () => {
    await fc.assert(
      fc.asyncProperty(
        shape,
        fc.array(fc.nat(20), { maxLength: 12 }),
        within(5, async (one, picks) => {
          const inOrder = await play(one, [0])
          const shuffled = await play(one, picks)
          expect(inOrder.result).toEqual(right(one, 'top'))
          expect(shuffled.result).toEqual(inOrder.result)
          expect([...shuffled.values.keys()]).toEqual([...inOrder.values.keys()])
        }),
      ),
      runs(300),
    )
  })
})

/** Branch, Switch and Subgraph: which way, and with what. */
import { describe, expect, it } from 'vitest'
import { defineNode, isNerveError, workflow } from 'nerve'
import { Branch, Loop, Subgraph, Switch } from 'nerve/control'
import { graph } from 'nerve/graph'
import { events, everywhere, paths, ran } from './control-stage.ts'
import { openStage, rejection } from './stage.ts'

const double = defineNode('double', (n: number) => n * 2)
const negate = defineNode('negate', (n: number) => -n)
const say = defineNode('say', (n: number) => `it is ${n}`)

describe('Branch', () => {
  it('runs one of two, with the input', async () => {
    const { host } = await openStage()
    const branch = Branch({ id: 'sign', condition: (n) => n > 0, then: double, else: negate })
    expect(await everywhere(host, branch, 4)).toBe(8)
    expect(await everywhere(host, branch, -4)).toBe(4)
  })

  it('gives its input when the condition does not hold and there is no else', async () => {
    const { host } = await openStage()
    const branch = Branch({ condition: (n) => n > 0, then: say })
    expect(await everywhere(host, branch, 4)).toBe('it is 4')
    expect(await everywhere(host, branch, -4)).toBe(-4)
    expect(
      await ran(host, Branch({ condition: () => false, then: 'nobody-runs-this' as never }), undefined).catch(String),
    ).toContain("then refers to the node 'nobody-runs-this', which is not known here")
  })

  it('decides once, also with a condition that looks elsewhere, asks later, and sees the params', async () => {
    const { host } = await openStage()
    let mood = true
    const branch = Branch({
      condition: async (_n, { params }) => Promise.resolve(mood && params['on'] === 1),
      then: double,
      else: negate,
    })
    const run = await host.start(branch, 3, { params: { on: 1 } })
    expect(await run.result()).toBe(6)
    mood = false
    expect(await host.replay(run.id)).toMatchObject({ same: true })
    expect(await paths(host, run.id)).toEqual(['condition', 'double'])
  })

  it('nests, in graphs and in itself', async () => {
    const { host } = await openStage()
    const small = graph<number>('small')
      .step('a', double, { inputFn: (_, { input }) => input })
      .returns(({ a }) => a)
    const inner = Branch({ id: 'inner', condition: (n) => n < 10, then: small, else: negate })
    const outer = Branch({ id: 'outer', condition: (n) => n >= 0, then: inner, else: double })
    expect([
      await everywhere(host, outer, 3),
      await everywhere(host, outer, 30),
      await everywhere(host, outer, -3),
    ]).toEqual([6, -30, -6])
  })

  it('fails when its condition throws, under every policy', async () => {
    const { host } = await openStage()
    const branch = Branch({ condition: (n) => (n as unknown as { a: { b: boolean } }).a.b, then: double })
    for (const errorPolicy of ['stop', 'skip', 'continue'] as const) {
      const run = await host.start(workflow('around', { errorPolicy }, (ctx) => ctx.run(branch, 1)))
      expect((await rejection(run.result())).message).toContain("failed at step 'branch/condition'")
      expect(await host.replay(run.id)).toMatchObject({ same: true })
    }
  })
})

describe('Switch', () => {
  const pick = Switch({
    id: 'pick',
    key: (n) => (n === 0 ? 'zero' : n > 0 ? 'more' : 'less'),
    cases: { zero: say, more: double },
    default: negate,
  })

  it('runs the case of the key, or the default', async () => {
    const { host } = await openStage()
    expect([
      await everywhere(host, pick, 0),
      await everywhere(host, pick, 2),
      await everywhere(host, pick, -2),
    ]).toEqual(['it is 0', 4, 2])
  })

  it('names its cases when there is none for the key', async () => {
    const { host } = await openStage()
    const strict = Switch({ id: 'strict', key: () => 'c' as 'a', cases: { a: double, b: negate } })
    const run = await host.start(strict, 1)
    const error = await rejection(run.result())
    expect(error.message).toContain(`switch 'strict' has no case "c" and no default. Its cases: a, b.`)
    expect(await host.replay(run.id)).toMatchObject({ same: true })
    const caught = workflow('caught', (ctx) =>
      ctx.run(strict, 1).catch((problem: unknown) => isNerveError(problem, 'bad-input') && problem.data),
    )
    expect(await ran(host, caught)).toEqual({ key: 'c', known: ['a', 'b'] })
  })

  it('knows only its own cases', async () => {
    const { host } = await openStage()
    const odd = Switch({ key: () => 'toString', cases: { a: double }, default: negate })
    expect(await ran(host, odd, 1)).toBe(-1)
    const numbered = Switch({ key: () => 1 as never, cases: { 1: double } })
    expect(await ran(host, numbered, 1)).toBe(2)
  })

  it('refuses to be without cases', () => {
    expect(() => Switch({ key: 'a' as never, cases: {} })).toThrow(
      "switch 'switch': key is not a function. it has no cases. Add one: cases: { name: node }.",
    )
  })
})

describe('Subgraph', () => {
  it('maps what goes in and what comes out', async () => {
    const { host } = await openStage()
    const grown = Subgraph({
      id: 'grown',
      body: Loop({ body: double, times: 2 }),
      input: (order: { amount: number }, { params }) => order.amount + Number(params['more'] ?? 0),
      output: ({ value }, { input }) => ({ ...input, amount: value }),
    })
    expect(await everywhere(host, grown, { amount: 3, who: 'x' })).toEqual({ amount: 12, who: 'x' })
    const run = await host.start(grown, { amount: 3 }, { params: { more: 1 } })
    expect(await run.result()).toEqual({ amount: 16 })
    expect(await paths(host, run.id)).toEqual(['input', 'loop/1/double', 'loop/2/double', 'output'])
    expect(await everywhere(host, Subgraph({ body: double }), 2)).toBe(4)
  })

  it('with a budget is a run of its own, inside that of the run around it', async () => {
    const { host } = await openStage()
    const busy = workflow('busy', async (ctx, n: number) => {
      for (let i = 0; i < n; i += 1) await ctx.step('again', () => i)
      return [n, ctx.params['tone']]
    })
    const kept = Subgraph({ id: 'kept', body: busy, budget: { steps: 3 } })
    const run = await host.start(kept, 3, { params: { tone: 'calm' } })
    expect(await run.result()).toEqual([3, 'calm'])
    expect(await host.replay(run.id)).toMatchObject({ same: true })
    expect((await host.runs({ children: true })).map(({ definition }) => definition).toSorted()).toEqual([
      'busy',
      'kept',
    ])
    const large = await host.start(kept, 5)
    expect(await large.rest()).toBe('exhausted')
    await large.resume({ budget: { steps: 10 } })
    const child = (await host.runs({ children: true })).find((row) => row.root === large.id && row.run !== large.id)
    await (await host.handle(child?.run ?? '')).resume({ budget: { steps: 10 } })
    expect(await large.result()).toEqual([5, undefined])
  })

  it('gives a body that has a budget the run that it needs', async () => {
    const { host } = await openStage()
    const own = workflow('own', { budget: { steps: 9 } }, (ctx, n: number) => ctx.step('a', () => n + 1))
    expect(await everywhere(host, Subgraph({ body: own }), 1)).toBe(2)
    const node = Subgraph({ id: 'wrong', body: double, budget: { steps: 1 } })
    expect((await rejection((await host.start(node, 1)).result())).message).toContain(
      "subgraph 'wrong' has a budget, which needs a definition as its body",
    )
  })

  it('fails with its mapping', async () => {
    const { host } = await openStage()
    const bad = Subgraph({ body: double, input: (text: string) => JSON.parse(text) as number })
    const run = await host.start(bad, '{')
    expect((await rejection(run.result())).message).toContain("failed at step 'input'")
    expect((await events(host, run.id)).at(-1)?.type).toBe('run-failed')
  })
})

import { describe, expect, it } from 'vitest'
import { createHost, defineNode, isNerveError, workflow, type Host } from 'nerve'
import { graph, withSteps, type StepEvent } from 'nerve/graph'

async function withHost<Value>(use: (host: Host) => Promise<Value>): Promise<Value> {
  const host = await createHost({ store: 'memory' })
  try {
    return await use(host)
  } finally {
    await host.close()
  }
}

const add = defineNode('add', (n: number) => n + 1)
const sum = defineNode('sum', (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0))

describe('a graph', () => {
  it('runs steps after what they come after, and gives their results by id', () =>
    withHost(async (host) => {
      const diamond = graph<number>('diamond')
        .step('top', add, { inputFn: (_, { input }) => input })
        .step('left', add, { after: ['top'], inputFn: ({ top }) => top })
        .step('right', add, { after: ['top'], inputFn: ({ top }) => top * 10 })
        .step('join', sum, { after: ['left', 'right'], inputFn: ({ left, right }) => [left, right] })
      const run = await host.start(diamond, 1)
      expect(await run.result()).toEqual({ top: 2, left: 3, right: 21, join: 24 })
    }))

  it('nests without limit, and the results nest too', () =>
    withHost(async (host) => {
      const inner = graph<number>('inner').step('a', add, { inputFn: (_, { input }) => input })
      const middle = graph<number>('middle').step('inside', inner, { inputFn: (_, { input }) => input + 1 })
      const outer = graph<number>('outer')
        .step('deep', middle, { inputFn: (_, { input }) => input })
        .step('after', add, { after: ['deep'], inputFn: ({ deep }) => deep.inside.a })
      const run = await host.start(outer, 1)
      expect(await run.result()).toEqual({ deep: { inside: { a: 3 } }, after: 4 })
      const paths = (await host.journal(run.id)).flatMap(({ event }) =>
        event.type === 'step-completed' ? [event.path] : [],
      )
      expect(paths).toEqual(['deep/inside/a', 'after'])
    }))

  it('starts a step as soon as it is ready, without waiting for a layer', () =>
    withHost(async (host) => {
      let release: (() => void) | undefined
      const order: string[] = []
      const slow = defineNode('slow', () => new Promise<void>((resolve) => (release = resolve)))
      const note = defineNode('note', (what: string) => void order.push(what))
      const free = defineNode('free', () => {
        order.push('b2')
        release?.()
      })
      const layers = graph('layers')
        .step('a', slow)
        .step('b', note, { input: 'b' })
        .step('b2', free, { after: ['b'] })
        .step('a2', note, { after: ['a'], input: 'a2' })
      await (await host.start(layers)).result()
      expect(order).toEqual(['b', 'b2', 'a2'])
    }))

  it('runs no more than maxParallel steps at a time', () =>
    withHost(async (host) => {
      let running = 0
      let most = 0
      const busy = defineNode('busy', async () => {
        running += 1
        most = Math.max(most, running)
        await new Promise(setImmediate)
        running -= 1
      })
      const wide = graph('wide', { maxParallel: 3 })
      for (let n = 0; n < 20; n += 1) wide.step(`s${n}`, busy)
      await (await host.start(wide)).result()
      expect(most).toBe(3)
    }))

  it('names every problem at once, before anything is started', () =>
    withHost(async (host) => {
      const chat = defineNode('chat', (text: string) => text, { persistent: true })
      const bad = graph('bad')
        .step('', add, { input: 1 })
        .step('twice', add, { input: 1 })
        .step('twice', add, { input: 1 })
        .step('self', add, { after: ['self'] as never, input: 1 })
        .step('lost', add, { after: ['nowhere'] as never, input: 1 })
        .step('both', add, { input: 1, inputFn: () => 1 })
        .step('named', 'nobody')
        .step('p', add, { after: ['r'] as never })
        .step('q', add, { after: ['p'] })
        .step('r', add, { after: ['q'] })
      const problems = bad.validate(host.registry.names)
      expect(problems).toEqual([
        'a step has an empty id.',
        "two steps have the id 'twice'.",
        "step 'self' comes after itself.",
        "step 'lost' comes after 'nowhere', which is not a step of this graph.",
        "step 'both' has both input and inputFn. Give one of them.",
        "step 'named' refers to the node 'nobody', which is not known here.",
        "these steps wait for each other in a cycle: 'p' → 'q' → 'r' → 'p'.",
      ])
      await expect(host.start(bad)).rejects.toSatisfy((error) => isNerveError(error) && error.code === 'bad-definition')
      expect(await host.runs()).toEqual([])
      const overlapping = graph('overlapping').step('one', chat, { input: 'a' }).step('two', chat, { input: 'b' })
      expect(overlapping.validate()).toEqual([
        "steps 'one' and 'two' could use the persistent node 'chat' at the same time. Put one after the other, or fork the node.",
      ])
      expect(overlapping.chain('one', 'two').validate()).toEqual([])
      expect(graph('empty').validate()).toEqual(['it has no steps. Add one: step(id, node).'])
    }))

  it('resolves names when it runs, and a run keeps the names it started with', () =>
    withHost(async (host) => {
      host.register(add)
      const byName = graph<number>('by-name').ref<number>('a', 'add', { inputFn: (_, { input }) => input })
      expect(await (await host.start(byName, 1)).result()).toEqual({ a: 2 })
      expect(() => host.registry.add(defineNode('add', () => 0))).toThrow(/taken by a function/u)
      expect(() => host.register(workflow('add', () => 0))).toThrow(/taken by a function/u)
      await expect(host.start(workflow('add', () => 0))).rejects.toThrow(/taken by a function/u)
      expect(await host.runs()).toHaveLength(1)
    }))
})

describe('failures in a graph', () => {
  const fails = defineNode('fails', (): number => {
    throw new Error('no')
  })
  const build = (errorPolicy: 'stop' | 'skip' | 'continue') =>
    graph('policy', { errorPolicy })
      .step('bad', fails)
      .step('after', add, { after: ['bad'], inputFn: ({ bad }) => bad ?? 0 })
      .step('behind', add, { after: ['after'], inputFn: ({ after }) => after ?? 0 })
      .step('beside', add, { input: 1 })

  it('stop: the graph fails', () =>
    withHost(async (host) => {
      const run = await host.start(build('stop'))
      await expect(run.result()).rejects.toThrow(/failed at step 'bad': no/u)
    }))

  it('skip: what comes after does not run, the rest does', () =>
    withHost(async (host) => {
      const run = await host.start(build('skip'))
      expect(await run.result()).toEqual({ beside: 2 })
      expect((await host.run(run.id)).status).toBe('completed-with-failures')
      const skipped = (await host.journal(run.id)).flatMap(({ event }) =>
        event.type === 'step-skipped' ? [[event.path, event.error.message]] : [],
      )
      expect(skipped).toEqual([
        ['after', "Step 'bad', which comes before it, failed."],
        ['behind', "Step 'after', which comes before it, did not run."],
      ])
    }))

  it('continue: what comes after runs without it', () =>
    withHost(async (host) => {
      expect(await (await host.start(build('continue'))).result()).toEqual({ after: 1, behind: 2, beside: 2 })
    }))

  it('a step that handles failures runs, and is told why', () =>
    withHost(async (host) => {
      const told = defineNode('told', (text: string) => text)
      const handled = graph('handled')
        .step('bad', fails)
        .step('report', told, {
          after: ['bad'],
          handles: true,
          inputFn: (_, { errors }) => String((errors['bad'] as Error).message),
        })
      expect(await (await host.start(handled)).result()).toEqual({ report: 'no' })
    }))

  it('policies hold per step: attempts, skip, and a parser that is a part of the step', () =>
    withHost(async (host) => {
      let tries = 0
      const flaky = defineNode('flaky', () => {
        tries += 1
        if (tries < 3) throw new Error('again')
        return '{"n": 4}'
      })
      const policies = graph('policies')
        .step('flaky', flaky, {
          policy: { attempts: 3, backoff: 1 },
          parser: (text): { n: number } => JSON.parse(text) as { n: number },
        })
        .step('skipped', fails, { policy: { onError: { skip: 7 } } })
        .step('sum', sum, {
          after: ['flaky', 'skipped'],
          inputFn: ({ flaky: one, skipped }) => [one.n, skipped],
        })
      expect(await (await host.start(policies)).result()).toEqual({ flaky: { n: 4 }, skipped: 7, sum: 11 })
      expect(tries).toBe(3)
    }))

  it('when: a step that is not wanted is skipped, a join behind it still runs', () =>
    withHost(async (host) => {
      const choice = graph<boolean>('choice')
        .step('yes', add, { input: 1, when: (_, { input }) => input })
        .step('no', add, { input: 10, when: (_, { input }) => !input })
        .step('only-no', add, { after: ['no'], inputFn: ({ no }) => no ?? 0 })
        .step('join', sum, { after: ['yes', 'no'], inputFn: ({ yes, no }) => [yes ?? 0, no ?? 0] })
      expect(await (await host.start(choice, true)).result()).toEqual({ yes: 2, join: 2 })
      expect(await (await host.start(choice, false)).result()).toEqual({ no: 11, 'only-no': 12, join: 11 })
    }))
})

describe('a graph that grows', () => {
  it('a node can return further steps', () =>
    withHost(async (host) => {
      host.register(add)
      const plan = defineNode('plan', (count: number) =>
        withSteps(
          count,
          Array.from({ length: count }, (_, n) => ({ id: `more-${n}`, node: 'add', input: n })),
        ),
      )
      const growing = graph<number>('growing').step('plan', plan, { inputFn: (_, { input }) => input })
      const run = await host.start(growing, 3)
      expect(await run.result()).toEqual({ plan: 3, 'more-0': 1, 'more-1': 2, 'more-2': 3 })
      expect(await host.replay(run.id)).toMatchObject({ same: true })
    }))

  it('a definition in it can add steps through ctx', () =>
    withHost(async (host) => {
      const controller = workflow('controller', async (ctx, input: number) => {
        const seen = await ctx.step('look', () => input * 2)
        ctx.graph?.add('extra', add, { input: seen })
        ctx.graph?.add('last', add, { after: ['extra'], inputFn: ({ extra }) => extra })
        return seen
      })
      const growing = graph<number>('growing').step('controller', controller, { inputFn: (_, { input }) => input })
      const run = await host.start(growing, 3)
      expect(await run.result()).toEqual({ controller: 6, extra: 7, last: 8 })
      const paths = (await host.journal(run.id)).flatMap(({ event }) => ('path' in event ? [event.path] : []))
      expect(paths).toEqual(['controller', 'controller/look', 'extra+/emit', 'extra', 'last+/emit', 'last'])
      expect(await host.replay(run.id)).toMatchObject({ same: true })
    }))
})

describe('stream', () => {
  it('tells what steps do: start, chunk, complete, error', () =>
    withHost(async (host) => {
      const talk = defineNode('talk', async (_: undefined, call) => {
        call.emit('text-delta', 'he')
        call.emit('text-delta', 'llo')
        await new Promise(setImmediate)
        return 'hello'
      })
      const told: StepEvent[] = []
      const talking = graph('talking')
        .step('talk', talk)
        .step('len', add, { after: ['talk'], input: 1 })
      for await (const event of talking.stream(host)) told.push(event)
      expect(told.map(({ type, step, data }) => [type, step, ...(data === undefined ? [] : [data])])).toEqual([
        ['start', 'talk'],
        ['chunk', 'talk', 'he'],
        ['chunk', 'talk', 'llo'],
        ['complete', 'talk', 'hello'],
        ['start', 'len'],
        ['complete', 'len', 2],
      ])
    }))
})

describe('a graph in a workflow in a map', () => {
  it('is one run with one journal', () =>
    withHost(async (host) => {
      const inner = graph<number>('inner')
        .step('a', add, { inputFn: (_, { input }) => input })
        .step('b', add, { after: ['a'], inputFn: ({ a }) => a })
      const middle = workflow('middle', async (ctx, n: number) => (await ctx.run(inner, n)).b)
      const outer = workflow('outer', (ctx) => ctx.map([1, 2, 3], (n) => ctx.run(middle, n)))
      const run = await host.start(outer)
      expect(await run.result()).toEqual([3, 4, 5])
      expect(await host.runs({ children: true })).toHaveLength(1)
      expect(await host.replay(run.id)).toMatchObject({ same: true })
      const paths = (await host.journal(run.id)).flatMap(({ event }) =>
        event.type === 'step-completed' && event.kind === undefined ? [event.path] : [],
      )
      expect(paths.toSorted()).toEqual([0, 1, 2].flatMap((n) => [`map/${n}/middle/inner/a`, `map/${n}/middle/inner/b`]))
    }))
})

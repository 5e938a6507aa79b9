// Nerve through its public API, with every setting at its default but the store and the durability. Variants: `memory`,
// `sqlite` (durability `process`) and `power`.
import { mkdirSync } from 'node:fs'
import type { Definition, Host, HostOptions } from 'nerve'
import type { MemoryAdded, Series, Setup } from '../harness/contract.ts'
import { effectThenMaybeDie, expectEqual, now, sumBelow, text } from '../harness/measure.ts'
import { createHost, workflow } from './nerve-entry.ts'

interface Counted {
  readonly count: number
  readonly other?: number
}

function open({ variant, dir }: Setup, definitions: HostOptions['definitions'] = []): Promise<Host> {
  if (variant === 'memory') return createHost({ store: 'memory' })
  mkdirSync(dir, { recursive: true })
  return createHost({ dir, durability: variant === 'power' ? 'power' : 'process', definitions })
}

async function prepared<Output>(setup: Setup, steps: number, definition: Definition<unknown, Output>) {
  const host = await open(setup)
  return {
    steps,
    run: async (): Promise<Output> => (await host.start(definition)).result(),
    close: () => host.close(),
  }
}

async function chain(setup: Setup) {
  const definition = workflow('chain', async (ctx) => {
    let state: Counted = { count: 0 }
    for (let i = 0; i < setup.n; i++) state = await ctx.step(`n${i}`, () => ({ count: state.count + 1 }))
    return state
  })
  return {
    ...(await prepared(setup, setup.n, definition)),
    verify: (state: Counted) => expectEqual(state.count, setup.n, 'count'),
  }
}

async function loop(setup: Setup) {
  const definition = workflow('loop', async (ctx) => {
    let state: Counted = { count: 0 }
    while (state.count < setup.n) {
      state = { ...state, ...(await ctx.step('a', () => ({ count: state.count + 1 }))) }
      state = { ...state, ...(await ctx.step('b', () => ({ other: state.count }))) }
    }
    return state
  })
  return {
    ...(await prepared(setup, 2 * setup.n, definition)),
    verify: (state: Counted) => expectEqual(state.other, setup.n, 'other'),
  }
}

async function fanOut(setup: Setup) {
  const definition = workflow('fan-out', async (ctx) => {
    const values = await ctx.all(Array.from({ length: setup.n }, (_, i) => () => ctx.step('w', () => i)))
    return values.reduce((sum, value) => sum + value, 0)
  })
  return {
    ...(await prepared(setup, setup.n, definition)),
    verify: (sum: number) => expectEqual(sum, sumBelow(setup.n), 'sum'),
  }
}

async function grow(setup: Setup) {
  let seedOf = 0
  const definition = workflow('grow', async (ctx) => {
    const messages: unknown[] = []
    for (let i = 0; i < setup.n; i++) {
      messages.push(await ctx.step('turn', () => ({ role: 'user', content: text(setup.messageBytes, seedOf++) })))
    }
    return messages.length
  })
  return {
    ...(await prepared(setup, setup.n, definition)),
    verify: (length: number) => expectEqual(length, setup.n, 'messages'),
  }
}

async function ask(setup: Setup) {
  const definition = workflow('ask', async (ctx) => {
    let count = 0
    for (let i = 0; i < setup.n; i++) count = await ctx.step('n', () => count + 1)
    return ctx.ask('ok?', { choices: ['yes', 'no'] })
  })
  const host = await open(setup)
  let question = ''
  host.subscribe({ type: 'question-asked' }, (heard) => {
    if ('id' in heard) question = heard.id
  })
  return {
    steps: 1,
    verify: () => {},
    close: () => host.close(),
    run: async () => {
      const began = now()
      const handle = await host.start(definition)
      const result = handle.result()
      await handle.rest()
      const asked = now()
      await handle.answer(question, 'yes')
      const answer = await result
      const answered = now()
      expectEqual(answer, 'yes', 'answer')
      return { pauseMs: asked - began, answerMs: answered - asked }
    },
  }
}

async function liveParts(setup: Setup) {
  const definition = workflow('live-parts', async (ctx) =>
    ctx.step('a', ({ emit }) => {
      for (let i = 0; i < setup.n; i++) emit('x', { one: 1, i })
    }),
  )
  const host = await open(setup)
  let delivered = 0
  for (let k = 0; k < setup.subscribers; k++) {
    host.subscribe({ type: 'x' }, (heard) => {
      if ('live' in heard) delivered += (heard.data as { one: number }).one
    })
  }
  return {
    steps: setup.n,
    verify: (count: number) => expectEqual(count, setup.n * setup.subscribers, 'delivered'),
    close: () => host.close(),
    run: async () => {
      const before = delivered
      await (await host.start(definition)).result()
      return delivered - before
    },
  }
}

function crashing({ n, dir, shape }: Setup, dieAfter: number | null): Definition<unknown, number> {
  return workflow('crash', async (ctx) => {
    const step = (label: string, i: number): Promise<number> =>
      ctx.step(label, async () => {
        await effectThenMaybeDie(dir, i, dieAfter)
        return 1
      })
    if (shape === 'fanOut') {
      const done = await ctx.all(Array.from({ length: n + 1 }, (_, i) => () => step('w', i)))
      return done.length
    }
    let count = 0
    for (let i = 0; i <= n; i++) count += await step('n', i)
    return count
  })
}

const seed = async (setup: Setup): Promise<unknown> =>
  (await (await open(setup)).start(crashing(setup, setup.n))).result()

const ready = async (setup: Setup): Promise<void> => (await open(setup)).close()

async function resume(setup: Setup): Promise<number> {
  const host = await open(setup, [crashing(setup, null)])
  const [run] = host.recovered.recovered
  if (run === undefined) throw new Error('nothing was recovered')
  return (await host.handle<number>(run)).result()
}

/** Imported when it is wanted, so that the cold start does not pay for it. */
const park = async (setup: Setup): Promise<MemoryAdded> => (await import('./nerve-park.ts')).park(setup)

const graphs = () => import('./nerve-graphs.ts')
const dag = async (setup: Setup) => (await graphs()).dag(setup, open)
const check = async (setup: Setup) => (await graphs()).check(setup)
const reduce = async (setup: Setup) => (await graphs()).reduce(setup, open)
const bigState = async (setup: Setup) => (await graphs()).bigState(setup, open)
const nested = async (setup: Setup) => (await graphs()).nested(setup, open)

const shells = () => import('./nerve-terminal.ts')
const gateways = () => import('./nerve-gateway.ts')
const servers = () => import('./nerve-server.ts')

export async function load(): Promise<Series> {
  return {
    versions: { node: process.versions.node },
    chain,
    loop,
    fanOut,
    grow,
    ask,
    liveParts,
    dag,
    check,
    reduce,
    bigState,
    nested,
    seed,
    ready,
    resume,
    park,
    printed: async (setup) => (await shells()).printed(setup),
    echoed: async (setup) => (await shells()).echoed(setup),
    halted: async (setup) => (await shells()).halted(setup),
    command: async () => (await shells()).command(),
    called: async (setup) => (await gateways()).called(setup),
    streamed: async (setup) => (await gateways()).streamed(setup),
    asked: async (setup) => (await servers()).asked(setup),
    subscribed: async (setup) => (await servers()).subscribed(setup),
  }
}

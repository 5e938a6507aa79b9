// LangGraph.js. Variants: none (no checkpointer), memory (MemorySaver), sqlite (SqliteSaver, its default durability "async").
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Series, Setup } from '../harness/contract.ts'
import { edgesBefore, effectThenMaybeDie, expectEqual, now, sumBelow, text, textsOf } from '../harness/measure.ts'
import { type Counted, type Messages, type Untyped, use, versionsOf } from './untyped.ts'

let L: Untyped
let SqliteSaver: Untyped

export async function load(variant: string | null): Promise<Series> {
  L = await use('@langchain/langgraph')
  if (variant === 'sqlite') ({ SqliteSaver } = await use('@langchain/langgraph-checkpoint-sqlite'))
  const sqlite = variant === 'sqlite' ? ['@langchain/langgraph-checkpoint-sqlite', 'better-sqlite3'] : []
  const versions = versionsOf('@langchain/langgraph', '@langchain/core', ...sqlite)
  return {
    versions,
    chain,
    loop,
    fanOut,
    grow,
    ask,
    liveParts,
    seed,
    resume,
    dag,
    reduce: fanOut,
    bigState,
    nested,
  }
}

function checkpointer({ variant, dir }: Setup): Untyped {
  if (variant === null) return undefined
  if (variant === 'memory') return new L.MemorySaver()
  mkdirSync(dir, { recursive: true })
  return SqliteSaver.fromConnString(join(dir, 'langgraph.db'))
}

let threads = 0
const config = (steps: number, thread = `t${threads++}`): Untyped => ({
  recursionLimit: steps + 10,
  configurable: { thread_id: thread },
})

const counted = (): Untyped => L.Annotation.Root({ count: L.Annotation(), other: L.Annotation() })
const increment = async (state: Counted): Promise<Counted> => ({ count: state.count + 1 })

type Node = (state: Counted) => Promise<Partial<Counted>>

function chainGraph(n: number, node: (i: number) => Node = () => increment): Untyped {
  const graph = new L.StateGraph(counted())
  for (let i = 0; i < n; i++) graph.addNode(`n${i}`, node(i))
  graph.addEdge(L.START, 'n0')
  for (let i = 0; i + 1 < n; i++) graph.addEdge(`n${i}`, `n${i + 1}`)
  return graph.addEdge(`n${n - 1}`, L.END)
}

function prepared(setup: Setup, graph: Untyped, options: { steps: number; limit?: number; input: unknown }) {
  const saver = checkpointer(setup)
  const app = graph.compile({ checkpointer: saver })
  return {
    steps: options.steps,
    run: (): Promise<Untyped> => app.invoke(options.input, config(options.limit ?? options.steps)),
    close: () => saver?.db?.close(),
  }
}

const chain = (setup: Setup) => ({
  ...prepared(setup, chainGraph(setup.n), { steps: setup.n, input: { count: 0 } }),
  verify: (state: Counted) => expectEqual(state.count, setup.n, 'count'),
})

function loop(setup: Setup) {
  const graph = new L.StateGraph(counted())
    .addNode('a', increment)
    .addNode('b', async (state: Counted) => ({ other: state.count }))
    .addEdge(L.START, 'a')
    .addEdge('a', 'b')
    .addConditionalEdges('b', (state: Counted) => (state.count < setup.n ? 'a' : L.END), ['a', L.END])
  return {
    ...prepared(setup, graph, { steps: 2 * setup.n, input: { count: 0 } }),
    verify: (state: Counted) => expectEqual(state.other, setup.n, 'other'),
  }
}

type Branch = (state: { i: number }) => Promise<{ sum: number }>

function fanGraph(n: number, branch: Branch): Untyped {
  const sum = L.Annotation({ reducer: (a: number, b: number) => a + b, default: () => 0 })
  const send = (): Untyped[] => Array.from({ length: n }, (_, i) => new L.Send('worker', { i }))
  return new L.StateGraph(L.Annotation.Root({ i: L.Annotation(), sum }))
    .addNode('split', async () => ({}))
    .addNode('worker', branch)
    .addNode('join', async () => ({}))
    .addEdge(L.START, 'split')
    .addConditionalEdges('split', send, ['worker'])
    .addEdge('worker', 'join')
    .addEdge('join', L.END)
}

const fanOut = (setup: Setup) => ({
  ...prepared(
    setup,
    fanGraph(setup.n, async ({ i }) => ({ sum: i })),
    { steps: setup.n, limit: 5, input: { sum: 0 } },
  ),
  verify: (state: { sum: number }) => expectEqual(state.sum, sumBelow(setup.n), 'sum'),
})

function grow(setup: Setup) {
  let seedOf = 0
  const messages = L.Annotation({ reducer: (a: unknown[], b: unknown[]) => a.concat(b), default: () => [] })
  const graph = new L.StateGraph(L.Annotation.Root({ messages }))
    .addNode('turn', async () => ({ messages: [{ role: 'user', content: text(setup.messageBytes, seedOf++) }] }))
    .addEdge(L.START, 'turn')
    .addConditionalEdges('turn', (s: Messages) => (s.messages.length < setup.n ? 'turn' : L.END), ['turn', L.END])
  return {
    ...prepared(setup, graph, { steps: setup.n, input: { messages: [] } }),
    verify: (state: Messages) => expectEqual(state.messages.length, setup.n, 'messages'),
  }
}

const added = (): Untyped => L.Annotation({ reducer: (a: number, b: number) => a + b, default: () => 0 })

/** Built and compiled in every run, as ours is. */
function dag(setup: Setup) {
  const saver = checkpointer(setup)
  return {
    steps: setup.n,
    run: (): Promise<Untyped> => {
      const graph = new L.StateGraph(L.Annotation.Root({ sum: added() }))
      for (let i = 0; i < setup.n; i++) graph.addNode(`s${i}`, async () => ({ sum: 1 }))
      for (let i = 0; i < setup.n; i++) {
        const before = edgesBefore(i).map((j) => `s${j}`)
        graph.addEdge(before.length === 0 ? L.START : before, `s${i}`)
        if (i + 7 >= setup.n) graph.addEdge(`s${i}`, L.END)
      }
      return graph.compile({ checkpointer: saver }).invoke({ sum: 0 }, config(setup.n))
    },
    verify: (state: { sum: number }) => expectEqual(state.sum, setup.n, 'steps'),
    close: () => saver?.db?.close(),
  }
}

function bigState(setup: Setup) {
  const big = textsOf(setup.messageBytes, 1000)
  const updates = textsOf(setup.messageBytes, setup.n)
  const notes = L.Annotation({ reducer: (a: unknown[], b: unknown[]) => a.concat(b), default: () => [] })
  const graph = new L.StateGraph(L.Annotation.Root({ notes }))
    .addNode('turn', async (s: { notes: unknown[] }) => ({ notes: [updates[s.notes.length - big.length]] }))
    .addEdge(L.START, 'turn')
    .addConditionalEdges('turn', (s: { notes: unknown[] }) => (s.notes.length < setup.n + 1000 ? 'turn' : L.END), [
      'turn',
      L.END,
    ])
  return {
    ...prepared(setup, graph, { steps: setup.n, input: { notes: big } }),
    verify: (state: { notes: unknown[] }) => expectEqual(state.notes.length, setup.n + 1000, 'notes'),
  }
}

function nested(setup: Setup) {
  let inner: Untyped = async (state: Counted) => ({ count: state.count + 1 })
  for (let i = 0; i + 1 < setup.n; i++) {
    inner = new L.StateGraph(counted()).addNode('s', inner).addEdge(L.START, 's').addEdge('s', L.END).compile()
  }
  const graph = new L.StateGraph(counted()).addNode('s', inner).addEdge(L.START, 's').addEdge('s', L.END)
  return {
    ...prepared(setup, graph, { steps: setup.n, input: { count: 1 } }),
    verify: (state: Counted) => expectEqual(state.count, 2, 'count'),
  }
}

function ask(setup: Setup) {
  const saver = checkpointer(setup)
  const app = new L.StateGraph(counted())
    .addNode('a', increment)
    .addNode('ask', async () => ({ other: L.interrupt({ question: 'ok?' }) }))
    .addEdge(L.START, 'a')
    .addConditionalEdges('a', (state: Counted) => (state.count < setup.n ? 'a' : 'ask'), ['a', 'ask'])
    .addEdge('ask', L.END)
    .compile({ checkpointer: saver })
  return {
    steps: 1,
    close: () => saver?.db?.close(),
    verify: () => {},
    run: async () => {
      const began = now()
      const thread = config(setup.n + 5)
      await app.invoke({ count: 0 }, thread)
      const asked = now()
      const state = await app.invoke(new L.Command({ resume: 'yes' }), thread)
      const answered = now()
      expectEqual(state.other, 'yes', 'answer')
      return { pauseMs: asked - began, answerMs: answered - asked }
    },
  }
}

function liveParts(setup: Setup) {
  if (setup.subscribers !== 1) throw new Error('not offered: one async iterator per run, no second subscriber')
  const node = async (_state: Counted, runtime: Untyped): Promise<Counted> => {
    for (let i = 0; i < setup.n; i++) runtime.writer({ one: 1, i })
    return { count: 1 }
  }
  const app = new L.StateGraph(counted()).addNode('a', node).addEdge(L.START, 'a').addEdge('a', L.END).compile()
  return {
    steps: setup.n,
    verify: (delivered: number) => expectEqual(delivered, setup.n, 'delivered'),
    run: async () => {
      let delivered = 0
      for await (const part of await app.stream({ count: 0 }, { streamMode: 'custom' })) delivered += part.one
      return delivered
    },
  }
}

function crashGraph({ n, dir, shape }: Setup, dieAfter: number | null): Untyped {
  const step =
    (name: (state: Counted) => number): Node =>
    async (state) => {
      await effectThenMaybeDie(dir, name(state), dieAfter)
      return { count: state.count + 1 }
    }
  if (shape === 'chain') return chainGraph(n + 1, (i) => step(() => i))
  if (shape === 'fanOut') {
    return fanGraph(n + 1, async ({ i }) => {
      await effectThenMaybeDie(dir, i, dieAfter)
      return { sum: 1 }
    })
  }
  return new L.StateGraph(counted())
    .addNode(
      'a',
      step((state) => state.count),
    )
    .addEdge(L.START, 'a')
    .addConditionalEdges('a', (state: Counted) => (state.count < n + 1 ? 'a' : L.END), ['a', L.END])
}

const seed = (setup: Setup): Promise<unknown> =>
  crashGraph(setup, setup.n)
    .compile({ checkpointer: checkpointer(setup) })
    .invoke({ count: 0, sum: 0 }, config(10 * setup.n, 'crash'))

async function resume(setup: Setup): Promise<number> {
  const app = crashGraph(setup, null).compile({ checkpointer: checkpointer(setup) })
  const state = await app.invoke(null, config(10 * setup.n, 'crash'))
  return setup.shape === 'fanOut' ? state.sum : state.count
}

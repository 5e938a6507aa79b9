// Mastra workflows, default engine. Variants: none (no storage), memory (InMemoryStore), libsql (a file).
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Series, Setup } from '../harness/contract.ts'
import { effectThenMaybeDie, expectEqual, now, sumBelow, text, textsOf } from '../harness/measure.ts'
import { type Counted, type Messages, type Untyped, use, versionsOf } from './untyped.ts'

process.env['MASTRA_TELEMETRY_DISABLED'] = '1'
let W: Untyped
let Mastra: Untyped
let Store: Untyped
let z: Untyped

export async function load(variant: string | null): Promise<Series> {
  W = await use('@mastra/core/workflows')
  z = (await use('zod')).z
  if (variant !== null) ({ Mastra } = await use('@mastra/core/mastra'))
  if (variant === 'memory') Store = (await use('@mastra/core/storage')).InMemoryStore
  if (variant === 'libsql') Store = (await use('@mastra/libsql')).LibSQLStore
  const versions = versionsOf('@mastra/core', ...(variant === 'libsql' ? ['@mastra/libsql'] : []))
  return { versions, chain, loop, fanOut, grow, ask, liveParts, seed, resume, bigState, nested }
}

/** Wrapped, because a Mastra workflow has a `then` of its own: returned from an async function it would be awaited for ever. */
async function host({ variant, dir }: Setup, workflow: Untyped): Promise<{ wf: Untyped }> {
  if (variant === null) return { wf: workflow }
  mkdirSync(dir, { recursive: true })
  const storage = new Store(variant === 'libsql' ? { id: 'bench', url: `file:${join(dir, 'mastra.db')}` } : undefined)
  const mastra = new Mastra({ workflows: { wf: workflow }, storage, logger: false })
  await storage.init?.()
  return { wf: mastra.getWorkflow('wf') }
}

interface Call<Data> {
  readonly inputData: Data
  readonly writer: Untyped
  readonly resumeData?: { answer: string }
  readonly suspend: (reason: unknown) => unknown
}

const schemas = () => ({ inputSchema: z.any(), outputSchema: z.any() })
const step = <Data>(id: string, execute: (call: Call<Data>) => unknown): Untyped =>
  W.createStep({ id, ...schemas(), resumeSchema: z.any(), suspendSchema: z.any(), execute })
const workflow = (id = 'wf'): Untyped => W.createWorkflow({ id, ...schemas() })
const increment = async ({ inputData }: Call<Counted>): Promise<Counted> => ({
  ...inputData,
  count: inputData.count + 1,
})

async function finish(wf: Untyped, inputData: unknown, runId?: string): Promise<Untyped> {
  const run = await wf.createRun(runId === undefined ? undefined : { runId })
  return outcome(await run.start({ inputData }))
}

function outcome(ended: Untyped): Untyped {
  if (ended.status !== 'success') throw new Error(`mastra ended ${ended.status}: ${ended.error?.message ?? ''}`)
  return ended.result
}

type Execute = (call: Call<Counted>) => unknown

function chainWorkflow(n: number, execute: (i: number) => Execute = () => increment): Untyped {
  let wf = workflow()
  for (let i = 0; i < n; i++) wf = wf.then(step(`n${i}`, execute(i)))
  return { wf }
}

async function chain(setup: Setup) {
  const { wf } = await host(setup, chainWorkflow(setup.n).wf.commit())
  return {
    steps: setup.n,
    run: () => finish(wf, { count: 0 }),
    verify: (state: Counted) => expectEqual(state.count, setup.n, 'count'),
  }
}

async function loop(setup: Setup) {
  const observe = async ({ inputData }: Call<Counted>): Promise<Counted> => ({ ...inputData, other: inputData.count })
  const cycle = workflow('cycle').then(step('a', increment)).then(step('b', observe)).commit()
  const enough = async ({ inputData }: Call<Counted>): Promise<boolean> => inputData.count >= setup.n
  const { wf } = await host(setup, workflow().dountil(cycle, enough).commit())
  return {
    steps: 2 * setup.n,
    run: () => finish(wf, { count: 0 }),
    verify: (state: Counted) => expectEqual(state.other, setup.n, 'other'),
  }
}

async function fanOut(setup: Setup) {
  const branch = step('w', async ({ inputData }: Call<number>) => inputData)
  const join = step('join', async ({ inputData }: Call<number[]>) => ({ sum: inputData.reduce((a, b) => a + b, 0) }))
  const { wf } = await host(setup, workflow().foreach(branch, { concurrency: setup.n }).then(join).commit())
  const items = Array.from({ length: setup.n }, (_, i) => i)
  return {
    steps: setup.n,
    run: () => finish(wf, items),
    verify: (state: { sum: number }) => expectEqual(state.sum, sumBelow(setup.n), 'sum'),
  }
}

async function grow(setup: Setup) {
  let seedOf = 0
  const turn = step('turn', async ({ inputData }: Call<Messages>) => ({
    messages: [...inputData.messages, { role: 'user', content: text(setup.messageBytes, seedOf++) }],
  }))
  const enough = async ({ inputData }: Call<Messages>): Promise<boolean> => inputData.messages.length >= setup.n
  const { wf } = await host(setup, workflow().dountil(turn, enough).commit())
  return {
    steps: setup.n,
    run: () => finish(wf, { messages: [] }),
    verify: (state: Messages) => expectEqual(state.messages.length, setup.n, 'messages'),
  }
}

async function bigState(setup: Setup) {
  const big = textsOf(setup.messageBytes, 1000)
  const updates = textsOf(setup.messageBytes, setup.n)
  const turn = step('turn', async ({ inputData }: Call<{ notes: string[] }>) => ({
    notes: [...inputData.notes, updates[inputData.notes.length - big.length] ?? ''],
  }))
  const enough = async ({ inputData }: Call<{ notes: string[] }>) => inputData.notes.length >= setup.n + 1000
  const { wf } = await host(setup, workflow().dountil(turn, enough).commit())
  return {
    steps: setup.n,
    run: () => finish(wf, { notes: big }),
    verify: (state: { notes: string[] }) => expectEqual(state.notes.length, setup.n + 1000, 'notes'),
  }
}

async function nested(setup: Setup) {
  let inner: Untyped = step('s', increment)
  for (let i = 0; i + 1 < setup.n; i++)
    inner = {
      wf: workflow(`g${i}`)
        .then(inner.wf ?? inner)
        .commit(),
    }
  const { wf } = await host(
    setup,
    workflow()
      .then(inner.wf ?? inner)
      .commit(),
  )
  return {
    steps: setup.n,
    run: () => finish(wf, { count: 1 }),
    verify: (state: Counted) => expectEqual(state.count, 2, 'count'),
  }
}

async function ask(setup: Setup) {
  const question = step('ask', async ({ inputData, resumeData, suspend }: Call<Counted>) =>
    resumeData === undefined ? suspend({ question: 'ok?' }) : { ...inputData, other: resumeData.answer },
  )
  const { wf } = await host(setup, chainWorkflow(setup.n).wf.then(question).commit())
  return {
    steps: 1,
    verify: () => {},
    run: async () => {
      const began = now()
      const run = await wf.createRun()
      expectEqual((await run.start({ inputData: { count: 0 } })).status, 'suspended', 'status')
      const asked = now()
      const again = await wf.createRun({ runId: run.runId })
      const state = outcome(await again.resume({ step: 'ask', resumeData: { answer: 'yes' } }))
      const answered = now()
      expectEqual(state.other, 'yes', 'answer')
      return { pauseMs: asked - began, answerMs: answered - asked }
    },
  }
}

async function liveParts(setup: Setup) {
  const emit = step('a', async ({ writer }) => {
    for (let i = 0; i < setup.n; i++) await writer.custom({ type: 'data-x', data: { one: 1, i } })
    return {}
  })
  const { wf } = await host(setup, workflow().then(emit).commit())
  return {
    steps: setup.n,
    verify: (delivered: number) => expectEqual(delivered, setup.n * setup.subscribers, 'delivered'),
    run: async () => {
      let delivered = 0
      const listen = (part: Untyped): void => {
        if (part.type === 'data-x') delivered += part.data.one
      }
      const run = await wf.createRun()
      const leave = Array.from({ length: setup.subscribers - 1 }, () => run.watch(listen))
      const stream = run.stream({ inputData: {} })
      for await (const part of stream.fullStream ?? stream) listen(part)
      for (const stop of leave) stop()
      return delivered
    },
  }
}

function crashWorkflow({ n, dir, shape }: Setup, dieAfter: number | null): Untyped {
  const body =
    (name: (state: Counted) => number): Execute =>
    async ({ inputData }) => {
      await effectThenMaybeDie(dir, name(inputData), dieAfter)
      return { count: inputData.count + 1 }
    }
  if (shape === 'chain') return chainWorkflow(n + 1, (i) => body(() => i)).wf.commit()
  if (shape === 'loop') {
    const enough = async ({ inputData }: Call<Counted>): Promise<boolean> => inputData.count >= n + 1
    return workflow()
      .dountil(
        step(
          'a',
          body((state) => state.count),
        ),
        enough,
      )
      .commit()
  }
  const branch = step('w', async ({ inputData }: Call<number>) => {
    await effectThenMaybeDie(dir, inputData, dieAfter)
    return inputData
  })
  const join = step('join', async ({ inputData }: Call<number[]>) => ({ count: inputData.length }))
  return workflow()
    .foreach(branch, { concurrency: n + 1 })
    .then(join)
    .commit()
}

async function seed(setup: Setup): Promise<unknown> {
  const input = setup.shape === 'fanOut' ? Array.from({ length: setup.n + 1 }, (_, i) => i) : { count: 0 }
  const { wf } = await host(setup, crashWorkflow(setup, setup.n))
  return finish(wf, input, 'crash')
}

async function resume(setup: Setup): Promise<number> {
  const { wf } = await host(setup, crashWorkflow(setup, null))
  const run = await wf.createRun({ runId: 'crash' })
  return outcome(await run.restart()).count
}

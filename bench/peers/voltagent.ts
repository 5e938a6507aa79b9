// VoltAgent workflows. Variants: none (checkpointing off), memory (in-memory adapter), libsql (a file); the last two checkpoint
// every step. Measured in its loop and fan-out: they write almost nothing per item, so they are not durable per item.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Series, Setup } from '../harness/contract.ts'
import { effectThenMaybeDie, expectEqual, now, sumBelow, text } from '../harness/measure.ts'
import { type Counted, type Messages, type Untyped, use, versionsOf } from './untyped.ts'

process.env['VOLTAGENT_LOG_LEVEL'] = 'error'
process.env['NODE_ENV'] = 'production'
let V: Untyped
let LibSQLMemoryAdapter: Untyped
let z: Untyped

export async function load(variant: string | null): Promise<Series> {
  V = await use('@voltagent/core')
  z = (await use('zod')).z
  if (variant === 'libsql') ({ LibSQLMemoryAdapter } = await use('@voltagent/libsql'))
  const versions = versionsOf('@voltagent/core', ...(variant === 'libsql' ? ['@voltagent/libsql'] : []))
  return { versions, chain, loop, fanOut, grow, ask, liveParts, seed, resume }
}

const quiet: Untyped = Object.fromEntries(
  ['trace', 'debug', 'info', 'warn', 'error', 'fatal'].map((level) => [level, () => {}]),
)
quiet.child = () => quiet

function options({ variant, dir }: Setup): Untyped {
  const base = { id: 'wf', name: 'wf', input: z.any(), result: z.any(), logger: quiet }
  if (variant === null) return { ...base, disableCheckpointing: true }
  if (variant === 'memory') return base
  mkdirSync(dir, { recursive: true })
  const storage = new LibSQLMemoryAdapter({ url: `file:${join(dir, 'voltagent.db')}`, logger: quiet })
  return { ...base, memory: new V.Memory({ storage }) }
}

interface Call<Data> {
  readonly data: Data
  readonly writer: Untyped
  readonly resumeData?: { answer: string }
  readonly suspend: (reason: string) => unknown
}

const start = (setup: Setup): Untyped => V.createWorkflowChain(options(setup))
const step = <Data>(id: string, execute: (call: Call<Data>) => unknown): Untyped => V.andThen({ id, execute })
const increment = async ({ data }: Call<Counted>): Promise<Counted> => ({ ...data, count: data.count + 1 })

function registered(builder: Untyped): Untyped {
  const wf = builder.toWorkflow()
  V.WorkflowRegistry.getInstance().registerWorkflow(wf)
  return wf
}

function outcome(ended: Untyped): Untyped {
  if (ended.status !== 'completed') throw new Error(`voltagent ended ${ended.status}: ${JSON.stringify(ended.error)}`)
  return ended.result
}

const finish = async (wf: Untyped, input: unknown, extra?: unknown): Promise<Untyped> =>
  outcome(await wf.run(input, extra))

type Execute = (call: Call<Counted>) => unknown

function chainOf(setup: Setup, n: number, execute: (i: number) => Execute = () => increment): Untyped {
  let builder = start(setup)
  for (let i = 0; i < n; i++) builder = builder.andThen({ id: `n${i}`, execute: execute(i) })
  return { builder }
}

function chain(setup: Setup) {
  const wf = registered(chainOf(setup, setup.n).builder)
  return {
    steps: setup.n,
    run: () => finish(wf, { count: 0 }),
    verify: (state: Counted) => expectEqual(state.count, setup.n, 'count'),
  }
}

function loop(setup: Setup) {
  const observe = step('b', async ({ data }: Call<Counted>) => ({ ...data, other: data.count }))
  const condition = ({ data }: Call<Counted>): boolean => data.count >= setup.n
  const wf = registered(start(setup).andDoUntil({ id: 'cycle', steps: [step('a', increment), observe], condition }))
  return {
    steps: 2 * setup.n,
    run: () => finish(wf, { count: 0 }),
    verify: (state: Counted) => expectEqual(state.other, setup.n, 'other'),
  }
}

function fanOut(setup: Setup) {
  const branch = step('w', async ({ data }: Call<number>) => data)
  const join = async ({ data }: Call<number[]>): Promise<unknown> => ({ sum: data.reduce((a, b) => a + b, 0) })
  const each = start(setup).andForEach({ id: 'each', concurrency: setup.n, step: branch })
  const wf = registered(each.andThen({ id: 'join', execute: join }))
  const items = Array.from({ length: setup.n }, (_, i) => i)
  return {
    steps: setup.n,
    run: () => finish(wf, items),
    verify: (state: { sum: number }) => expectEqual(state.sum, sumBelow(setup.n), 'sum'),
  }
}

function grow(setup: Setup) {
  let seedOf = 0
  const turn = step('turn', async ({ data }: Call<Messages>) => ({
    messages: [...data.messages, { role: 'user', content: text(setup.messageBytes, seedOf++) }],
  }))
  const condition = ({ data }: Call<Messages>): boolean => data.messages.length >= setup.n
  const wf = registered(start(setup).andDoUntil({ id: 'cycle', step: turn, condition }))
  return {
    steps: setup.n,
    run: () => finish(wf, { messages: [] }),
    verify: (state: Messages) => expectEqual(state.messages.length, setup.n, 'messages'),
  }
}

function ask(setup: Setup) {
  const execute = async ({ data, suspend, resumeData }: Call<Counted>): Promise<unknown> =>
    resumeData === undefined ? suspend('ok?') : { ...data, other: resumeData.answer }
  const wf = registered(chainOf(setup, setup.n).builder.andThen({ id: 'ask', resumeSchema: z.any(), execute }))
  return {
    steps: 1,
    verify: () => {},
    run: async () => {
      const began = now()
      const execution = await wf.run({ count: 0 })
      expectEqual(execution.status, 'suspended', 'status')
      const asked = now()
      const state = outcome(await execution.resume({ answer: 'yes' }))
      const answered = now()
      expectEqual(state.other, 'yes', 'answer')
      return { pauseMs: asked - began, answerMs: answered - asked }
    },
  }
}

function liveParts(setup: Setup) {
  if (setup.subscribers !== 1) throw new Error('not offered: one async iterator per run, no second subscriber')
  const execute = async ({ writer }: Call<unknown>): Promise<unknown> => {
    for (let i = 0; i < setup.n; i++) writer.write({ type: 'x', output: { one: 1, i } })
    return {}
  }
  const wf = registered(start(setup).andThen({ id: 'a', execute }))
  return {
    steps: setup.n,
    verify: (delivered: number) => expectEqual(delivered, setup.n, 'delivered'),
    run: async () => {
      let delivered = 0
      for await (const part of wf.stream({})) if (part.type === 'x') delivered += part.output.one
      return delivered
    },
  }
}

function crashWorkflow(setup: Setup, dieAfter: number | null): Untyped {
  const { n, dir, shape } = setup
  const body =
    (name: (state: Counted) => number): Execute =>
    async ({ data }) => {
      await effectThenMaybeDie(dir, name(data), dieAfter)
      return { count: data.count + 1 }
    }
  if (shape === 'chain') return registered(chainOf(setup, n + 1, (i) => body(() => i)).builder)
  if (shape === 'loop') {
    const condition = ({ data }: Call<Counted>): boolean => data.count >= n + 1
    return registered(
      start(setup).andDoUntil({
        id: 'cycle',
        step: step(
          'a',
          body((s) => s.count),
        ),
        condition,
      }),
    )
  }
  const branch = step('w', async ({ data }: Call<number>) => {
    await effectThenMaybeDie(dir, data, dieAfter)
    return data
  })
  const join = async ({ data }: Call<number[]>): Promise<unknown> => ({ count: data.length })
  const each = start(setup).andForEach({ id: 'each', concurrency: n + 1, step: branch })
  return registered(each.andThen({ id: 'join', execute: join }))
}

function seed(setup: Setup): Promise<unknown> {
  const input = setup.shape === 'fanOut' ? Array.from({ length: setup.n + 1 }, (_, i) => i) : { count: 0 }
  return finish(crashWorkflow(setup, setup.n), input, { executionId: 'crash' })
}

async function resume(setup: Setup): Promise<number> {
  return outcome(await crashWorkflow(setup, null).restart('crash')).count
}

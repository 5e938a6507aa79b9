// OpenWorkflow: durable async functions on node:sqlite. The worker is ticked by hand and completion is noticed at once, so its
// polling (100 ms to 1 s) is not part of the numbers. Variants: sqlite (as shipped: WAL, synchronous=FULL), sqlite-normal
// (the same with synchronous=NORMAL, set from outside: the setting Nerve's `process` durability uses).
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Series, Setup } from '../harness/contract.ts'
import { effectThenMaybeDie, expectEqual, now, sumBelow, text } from '../harness/measure.ts'
import { type Counted, type Untyped, use, versionsOf } from './untyped.ts'

let O: Untyped
let BackendSqlite: Untyped

export async function load(): Promise<Series> {
  O = await use('openworkflow')
  ;({ BackendSqlite } = await use('openworkflow/sqlite'))
  return { versions: versionsOf('openworkflow'), chain, loop, fanOut, grow, ask, seed, resume }
}

interface Host {
  readonly backend: Untyped
  readonly client: Untyped
}

interface Call {
  readonly input: Untyped
  readonly step: Untyped
}

function open({ variant, dir }: Setup): Host {
  mkdirSync(dir, { recursive: true })
  const backend = BackendSqlite.connect(join(dir, 'openworkflow.db'))
  if (variant === 'sqlite-normal') backend.db.exec('PRAGMA synchronous=NORMAL')
  const client = new O.OpenWorkflow({ backend })
  return { backend, client }
}

/** Lets the worker take what is ready and waits until it has nothing in its hands. */
async function drain(worker: Untyped): Promise<void> {
  await worker.tick()
  while (worker.activeExecutions.size > 0) await new Promise((resolve) => setImmediate(resolve))
}

async function output(host: Host, id: string): Promise<Untyped> {
  const run = await host.backend.getWorkflowRun({ workflowRunId: id })
  if (run.status === 'completed' || run.status === 'succeeded') return run.output
  throw new Error(`openworkflow ended ${run.status}: ${JSON.stringify(run.error)}`)
}

function prepared(setup: Setup, steps: number, body: (call: Call) => Promise<unknown>) {
  const host = open(setup)
  const workflow = host.client.defineWorkflow({ name: 'bench' }, body)
  const worker = host.client.newWorker({ concurrency: 1 })
  return {
    steps,
    close: () => host.backend.stop(),
    run: async () => {
      const handle = await workflow.run({ count: 0 })
      await drain(worker)
      return output(host, handle.workflowRun.id)
    },
  }
}

const chain = (setup: Setup) => ({
  ...prepared(setup, setup.n, async ({ step }) => {
    let state: Counted = { count: 0 }
    for (let i = 0; i < setup.n; i++)
      state = await step.run({ name: `n${i}` }, async () => ({ count: state.count + 1 }))
    return state
  }),
  verify: (state: Counted) => expectEqual(state.count, setup.n, 'count'),
})

const loop = (setup: Setup) => ({
  ...prepared(setup, 2 * setup.n, async ({ step }) => {
    let state: Counted = { count: 0 }
    while (state.count < setup.n) {
      state = { ...state, ...(await step.run({ name: 'a' }, async () => ({ count: state.count + 1 }))) }
      state = { ...state, ...(await step.run({ name: 'b' }, async () => ({ other: state.count }))) }
    }
    return state
  }),
  verify: (state: Counted) => expectEqual(state.other, setup.n, 'other'),
})

const fanOut = (setup: Setup) => ({
  ...prepared(setup, setup.n, async ({ step }) => {
    const branches = Array.from({ length: setup.n }, (_, i) => step.run({ name: `w${i}` }, async () => i))
    const values: number[] = await Promise.all(branches)
    return { sum: values.reduce((a, b) => a + b, 0) }
  }),
  verify: (state: { sum: number }) => expectEqual(state.sum, sumBelow(setup.n), 'sum'),
})

function grow(setup: Setup) {
  let seedOf = 0
  const turn = async (): Promise<unknown> => ({ role: 'user', content: text(setup.messageBytes, seedOf++) })
  return {
    ...prepared(setup, setup.n, async ({ step }) => {
      const messages: unknown[] = []
      for (let i = 0; i < setup.n; i++) messages.push(await step.run({ name: 'turn' }, turn))
      return { length: messages.length }
    }),
    verify: (state: { length: number }) => expectEqual(state.length, setup.n, 'messages'),
  }
}

function ask(setup: Setup) {
  const host = open(setup)
  const workflow = host.client.defineWorkflow({ name: 'ask' }, async ({ input, step }: Call) => {
    let count = 0
    for (let i = 0; i < setup.n; i++) count = await step.run({ name: 'n' }, async () => count + 1)
    return { answer: await step.waitForSignal({ signal: `ok:${input.run}` }) }
  })
  const worker = host.client.newWorker({ concurrency: 1 })
  return {
    steps: 1,
    close: () => host.backend.stop(),
    verify: () => {},
    run: async (ordinal: number) => {
      const began = now()
      const handle = await workflow.run({ run: ordinal })
      await drain(worker)
      const asked = now()
      const sent = await host.client.sendSignal({ signal: `ok:${ordinal}`, data: 'yes' })
      expectEqual(sent.workflowRunIds.length, 1, 'recipients')
      await drain(worker)
      const state = await output(host, handle.workflowRun.id)
      const answered = now()
      expectEqual(JSON.stringify(state.answer).includes('yes'), true, 'answered with yes')
      return { pauseMs: asked - began, answerMs: answered - asked }
    },
  }
}

function defineCrash(host: Host, { n, dir, shape }: Setup, dieAfter: number | null): Untyped {
  const body = (i: number) => async (): Promise<number> => {
    await effectThenMaybeDie(dir, i, dieAfter)
    return i
  }
  return host.client.defineWorkflow({ name: 'crash' }, async ({ step }: Call) => {
    if (shape === 'fanOut') {
      const branches = Array.from({ length: n + 1 }, (_, i) => step.run({ name: `w${i}` }, body(i)))
      return { count: (await Promise.all(branches)).length }
    }
    let count = 0
    for (let i = 0; i <= n; i++) {
      await step.run({ name: shape === 'loop' ? 'n' : `n${i}` }, body(i))
      count += 1
    }
    return { count }
  })
}

async function seed(setup: Setup): Promise<unknown> {
  const host = open(setup)
  const handle = await defineCrash(host, setup, setup.n).run({})
  writeFileSync(join(setup.dir, 'run-id'), handle.workflowRun.id)
  await drain(host.client.newWorker({ concurrency: 1 }))
  return output(host, handle.workflowRun.id)
}

/** The dead worker holds a lease of 30 s. It is ended by hand, so that the figure is the replay alone. */
async function resume(setup: Setup): Promise<number> {
  const host = open(setup)
  defineCrash(host, setup, null)
  host.backend.db.exec("UPDATE workflow_runs SET available_at = '2020-01-01T00:00:00.000Z'")
  await drain(host.client.newWorker({ concurrency: 1 }))
  const state = await output(host, readFileSync(join(setup.dir, 'run-id'), 'utf8'))
  return state.count
}

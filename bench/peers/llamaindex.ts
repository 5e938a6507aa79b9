// LlamaIndex workflow-core: event driven, in memory. A context can be snapshotted once, so nothing is durable per step.
import type { Series, Setup } from '../harness/contract.ts'
import { expectEqual, sumBelow } from '../harness/measure.ts'
import { type Counted, type Untyped, use, versionsOf } from './untyped.ts'

let L: Untyped

export async function load(): Promise<Series> {
  L = await use('@llamaindex/workflow-core')
  return { versions: versionsOf('@llamaindex/workflow-core'), chain, loop, fanOut, liveParts }
}

async function until(workflow: Untyped, first: Untyped, stop: Untyped): Promise<Untyped> {
  const { stream, sendEvent } = workflow.createContext()
  sendEvent(first)
  return (await stream.until(stop).toArray()).at(-1).data
}

function chain(setup: Setup) {
  const workflow = L.createWorkflow()
  const events = Array.from({ length: setup.n + 1 }, () => L.workflowEvent())
  for (let i = 0; i < setup.n; i++) {
    workflow.handle([events[i]], async (_context: Untyped, event: Untyped) =>
      events[i + 1].with({ ...event.data, count: event.data.count + 1 }),
    )
  }
  return {
    steps: setup.n,
    run: () => until(workflow, events[0].with({ count: 0 }), events[setup.n]),
    verify: (state: Counted) => expectEqual(state.count, setup.n, 'count'),
  }
}

function loop(setup: Setup) {
  const workflow = L.createWorkflow()
  const [a, b, stop] = [L.workflowEvent(), L.workflowEvent(), L.workflowEvent()]
  workflow.handle([a], async (_context: Untyped, { data }: Untyped) => b.with({ ...data, count: data.count + 1 }))
  workflow.handle([b], async (_context: Untyped, { data }: Untyped) =>
    (data.count < setup.n ? a : stop).with({ ...data, other: data.count }),
  )
  return {
    steps: 2 * setup.n,
    run: () => until(workflow, a.with({ count: 0 }), stop),
    verify: (state: Counted) => expectEqual(state.other, setup.n, 'other'),
  }
}

function fanOut(setup: Setup) {
  const workflow = L.createWorkflow()
  const [go, work, done, stop] = [L.workflowEvent(), L.workflowEvent(), L.workflowEvent(), L.workflowEvent()]
  workflow.handle([go], async ({ sendEvent, stream }: Untyped) => {
    let left = setup.n
    const all = stream.until((event: Untyped) => done.include(event) && --left === 0).toArray()
    for (let i = 0; i < setup.n; i++) sendEvent(work.with(i))
    let sum = 0
    for (const event of await all) if (done.include(event)) sum += event.data
    return stop.with({ sum })
  })
  workflow.handle([work], async (_context: Untyped, event: Untyped) => done.with(event.data))
  return {
    steps: setup.n,
    run: () => until(workflow, go.with(), stop),
    verify: (state: { sum: number }) => expectEqual(state.sum, sumBelow(setup.n), 'sum'),
  }
}

function liveParts(setup: Setup) {
  const workflow = L.createWorkflow()
  const [go, part, stop] = [L.workflowEvent(), L.workflowEvent(), L.workflowEvent()]
  workflow.handle([go], async ({ sendEvent }: Untyped) => {
    for (let i = 0; i < setup.n; i++) sendEvent(part.with({ one: 1, i }))
    return stop.with()
  })
  return {
    steps: setup.n,
    verify: (delivered: number) => expectEqual(delivered, setup.n * setup.subscribers, 'delivered'),
    run: async () => {
      let delivered = 0
      const { stream, sendEvent } = workflow.createContext()
      for (let k = 0; k < setup.subscribers; k++) {
        stream.on(part, (event: Untyped) => {
          delivered += event.data.one
        })
      }
      sendEvent(go.with())
      await stream.until(stop).toArray()
      return delivered
    },
  }
}

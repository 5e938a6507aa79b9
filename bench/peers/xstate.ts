// XState 5 actors; async nodes are promise actors. XState has no store of its own: the sqlite variant does what its documentation
// tells users to do (persist `getPersistedSnapshot()` on every change), into node:sqlite with WAL and synchronous=NORMAL.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Series, Setup } from '../harness/contract.ts'
import { effectThenMaybeDie, expectEqual, now, sumBelow, text } from '../harness/measure.ts'
import { type Counted, type Message, type Messages, type Untyped, use, versionsOf } from './untyped.ts'

let X: Untyped

export async function load(): Promise<Series> {
  X = await use('xstate')
  return { versions: versionsOf('xstate'), chain, loop, fanOut, grow, ask, liveParts, seed, resume }
}

interface Store {
  put(id: string, actor: Untyped): void
  get(id: string): Untyped
  close(): void
}

function open({ variant, dir }: Setup): Store | null {
  if (variant === null) return null
  mkdirSync(dir, { recursive: true })
  const db = new DatabaseSync(join(dir, 'xstate.db'))
  db.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL')
  db.exec('CREATE TABLE IF NOT EXISTS snapshots(id TEXT PRIMARY KEY, snapshot TEXT)')
  const put = db.prepare(
    'INSERT INTO snapshots VALUES(?, ?) ON CONFLICT(id) DO UPDATE SET snapshot = excluded.snapshot',
  )
  const get = db.prepare('SELECT snapshot FROM snapshots WHERE id = ?')
  return {
    put: (id, actor) => put.run(id, JSON.stringify(actor.getPersistedSnapshot())),
    get: (id) => JSON.parse(String(get.get(id)?.['snapshot'])),
    close: () => db.close(),
  }
}

function finish(actor: Untyped, store: Store | null, id: string): Promise<Untyped> {
  return new Promise((resolve, reject) => {
    const next = (snapshot: Untyped): void => {
      store?.put(id, actor)
      if (snapshot.status === 'done') resolve(snapshot.context)
    }
    actor.subscribe({ next, error: reject })
    actor.start()
  })
}

interface Done {
  readonly context: Untyped
  readonly event: { readonly output: Untyped }
}
type Body<State = Counted> = (state: State) => Promise<unknown>

const merge = (): Untyped => X.assign(({ event }: Done) => event.output)
const increment: Body = async (state) => ({ count: state.count + 1 })

const invoke = <State>(body: Body<State>, onDone: Untyped): Untyped => ({
  invoke: {
    src: X.fromPromise(({ input }: { input: State }) => body(input)),
    input: ({ context }: Done) => context,
    onDone,
  },
})

function chainStates(n: number, last: string, body: (i: number) => Body = () => increment): Untyped {
  const states: Untyped = {}
  for (let i = 0; i < n; i++) {
    states[`n${i}`] = invoke(body(i), { target: i + 1 < n ? `n${i + 1}` : last, actions: merge() })
  }
  states.end = { type: 'final' }
  return states
}

const machine = (initial: string, states: Untyped): Untyped =>
  X.createMachine({ initial, context: { count: 0 }, states })

function loopMachine(n: number, body: Body = increment): Untyped {
  const more = ({ context }: Done): boolean => context.count < n
  const observe: Body = async (state) => ({ other: state.count })
  const b = invoke(observe, [
    { guard: more, target: 'a', actions: merge() },
    { target: 'end', actions: merge() },
  ])
  return machine('a', { a: invoke(body, { target: 'b', actions: merge() }), b, end: { type: 'final' } })
}

function fanMachine(n: number, body: Body<number>): Untyped {
  const w = X.fromPromise(({ input }: { input: number }) => body(input))
  const spawn = X.enqueueActions(({ enqueue }: Untyped) => {
    for (let i = 0; i < n; i++) enqueue.spawnChild('w', { id: `w${i}`, input: i })
  })
  const collect = X.assign(({ context, event }: Done) => ({ sum: context.sum + event.output, left: context.left - 1 }))
  const go = {
    entry: spawn,
    on: { 'xstate.done.actor.*': { actions: collect } },
    always: { guard: ({ context }: Done) => context.left === 0, target: 'end' },
  }
  const context = { sum: 0, left: n }
  return X.setup({ actors: { w } }).createMachine({ initial: 'go', context, states: { go, end: { type: 'final' } } })
}

function prepared(setup: Setup, definition: Untyped, steps: number) {
  const store = open(setup)
  return {
    steps,
    run: (ordinal: number) => finish(X.createActor(definition), store, `r${ordinal}`),
    close: () => store?.close(),
  }
}

const chain = (setup: Setup) => ({
  ...prepared(setup, machine('n0', chainStates(setup.n, 'end')), setup.n),
  verify: (state: Counted) => expectEqual(state.count, setup.n, 'count'),
})

const loop = (setup: Setup) => ({
  ...prepared(setup, loopMachine(setup.n), 2 * setup.n),
  verify: (state: Counted) => expectEqual(state.other, setup.n, 'other'),
})

const fanOut = (setup: Setup) => ({
  ...prepared(
    setup,
    fanMachine(setup.n, async (i) => i),
    setup.n,
  ),
  verify: (state: { sum: number }) => expectEqual(state.sum, sumBelow(setup.n), 'sum'),
})

function grow(setup: Setup) {
  let seedOf = 0
  const body = async (): Promise<Message> => ({ role: 'user', content: text(setup.messageBytes, seedOf++) })
  const add = X.assign(({ context, event }: Done) => ({ messages: [...context.messages, event.output] }))
  const turn = invoke(body, [
    {
      guard: ({ context }: Done) => context.messages.length + 1 < setup.n,
      target: 'turn',
      reenter: true,
      actions: add,
    },
    { target: 'end', actions: add },
  ])
  const states = { turn, end: { type: 'final' } }
  return {
    ...prepared(setup, X.createMachine({ initial: 'turn', context: { messages: [] }, states }), setup.n),
    verify: (state: Messages) => expectEqual(state.messages.length, setup.n, 'messages'),
  }
}

function ask(setup: Setup) {
  const states = chainStates(setup.n, 'ask')
  states.ask = { on: { answer: { target: 'end', actions: X.assign({ other: ({ event }: Untyped) => event.value }) } } }
  const definition = machine('n0', states)
  const store = open(setup)
  const watched = (id: string, options?: Untyped): Untyped => {
    const actor = X.createActor(definition, options)
    actor.subscribe(() => store?.put(id, actor))
    actor.start()
    return actor
  }
  return {
    steps: 1,
    close: () => store?.close(),
    verify: () => {},
    run: async (ordinal: number) => {
      const id = `r${ordinal}`
      const began = now()
      const first = watched(id)
      await X.waitFor(first, (snapshot: Untyped) => snapshot.matches('ask'))
      first.stop()
      const asked = now()
      const second = watched(id, { snapshot: store?.get(id) })
      second.send({ type: 'answer', value: 'yes' })
      const ended = await X.waitFor(second, (snapshot: Untyped) => snapshot.status === 'done')
      const answered = now()
      expectEqual(ended.context.other, 'yes', 'answer')
      return { pauseMs: asked - began, answerMs: answered - asked }
    },
  }
}

function liveParts(setup: Setup) {
  const emit = X.emit(({ event }: { event: { i: number } }) => ({ type: 'x', one: 1, i: event.i }))
  const definition = X.createMachine({ context: {}, on: { go: { actions: emit } } })
  return {
    steps: setup.n,
    verify: (delivered: number) => expectEqual(delivered, setup.n * setup.subscribers, 'delivered'),
    run: async () => {
      let delivered = 0
      const actor = X.createActor(definition)
      for (let k = 0; k < setup.subscribers; k++) {
        actor.on('x', (part: { one: number }) => {
          delivered += part.one
        })
      }
      actor.start()
      for (let i = 0; i < setup.n; i++) actor.send({ type: 'go', i })
      actor.stop()
      return delivered
    },
  }
}

function crashMachine({ n, dir, shape }: Setup, dieAfter: number | null): Untyped {
  const body =
    (name: (state: Counted) => number): Body =>
    async (state) => {
      await effectThenMaybeDie(dir, name(state), dieAfter)
      return { count: state.count + 1 }
    }
  if (shape === 'chain')
    return machine(
      'n0',
      chainStates(n + 1, 'end', (i) => body(() => i)),
    )
  if (shape === 'loop')
    return loopMachine(
      n + 1,
      body((state) => state.count),
    )
  return fanMachine(n + 1, async (i) => {
    await effectThenMaybeDie(dir, i, dieAfter)
    return 1
  })
}

const seed = (setup: Setup): Promise<unknown> =>
  finish(X.createActor(crashMachine(setup, setup.n)), open(setup), 'crash')

async function resume(setup: Setup): Promise<number> {
  const store = open(setup)
  const actor = X.createActor(crashMachine(setup, null), { snapshot: store?.get('crash') })
  const context = await finish(actor, store, 'crash')
  return setup.shape === 'fanOut' ? context.sum : context.count
}

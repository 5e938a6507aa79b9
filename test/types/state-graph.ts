/** State graphs infer what they say, and wrong updates, targets and edges do not compile. Checked by tsc, never run. */
import { createHost, defineNode, type Definition, type Handle } from 'nerve'
import { END, START, channel, goto, raise, send, stateGraph, type StateOf, type UpdateOf } from 'nerve/state'
import type { Equal, Expect } from './equal.ts'

interface Feature {
  readonly id: string
  readonly passes: boolean
}

const channels = {
  topic: channel<string>(),
  maybe: channel<string | undefined>(),
  mood: channel<'good' | 'bad'>({ default: () => 'good' }),
  notes: channel.concat<string>(),
  features: channel.mergeById<Feature>('id'),
  meta: channel.merge<{ author: string; pages: number }>(),
  full: channel.merge({ default: () => ({ a: 1 }) }),
  count: channel<number>({ default: () => 0, reducer: (a, b) => a + b }),
  total: channel({ default: () => 0 }),
  list: channel<number[], number>({ default: () => [], reducer: (all, one) => [...all, one] }),
}

type State = StateOf<typeof channels>
export type States = Expect<
  Equal<
    State,
    {
      readonly topic: string
      readonly maybe: string | undefined
      readonly mood: 'good' | 'bad'
      readonly notes: readonly string[]
      readonly features: readonly Feature[]
      readonly meta: Partial<{ author: string; pages: number }>
      readonly full: { a: number }
      readonly count: number
      readonly total: number
      readonly list: number[]
    }
  >
>
export type Updates = Expect<
  Equal<
    UpdateOf<typeof channels>,
    {
      readonly topic?: string
      readonly maybe?: string
      readonly mood?: 'good' | 'bad'
      readonly notes?: readonly string[]
      readonly features?: readonly Feature[]
      readonly meta?: Partial<{ author: string; pages: number }>
      readonly full?: Partial<{ a: number }>
      readonly count?: number
      readonly total?: number
      readonly list?: number
    }
  >
>
// @ts-expect-error -- features have no such field
channel.mergeById<Feature>('name')

const shout = defineNode('shout', (text: string) => text.toUpperCase())
const base = stateGraph('research', channels)

const whole = base
  .node('plan', (state) => ({ topic: state.topic.trim(), mood: 'bad', notes: ['a'], list: 1 }))
  .node('nothing', () => undefined)
  .node('effect', async () => {})
  .node('jump', (state) => (state.count > 1 ? goto('plan', { mood: 'good' }) : goto(['nothing', END])))
  .node('fan', ({ notes }) => notes.map((note) => send('read', note)))
  .node('told', () => raise({ count: 1 }, { type: 'checkpoint', label: 'here' }))
  .each('read', (note: string, state, call) => ({ notes: [note, state.topic, call.path] }))
  .node('loud', shout, { input: ({ topic }) => topic, update: (loud, { count }) => ({ topic: loud, count }) })
  .each('loud-each', shout, { update: (loud) => ({ notes: [loud] }) })
  .wait('ask', ({ topic }) => `Is ${topic} right?`, {
    choices: ['yes', 'no'],
    into: (answer, state) => (answer === 'yes' ? { notes: [state.topic] } : goto('plan')),
  })
  .edge(START, 'plan')
  .edge(['plan', 'read'], 'loud')
  .edges('loud', ({ count }) => (count > 3 ? 'plan' : END), ['plan', END])
  .edges('jump', async () => 'again', { again: 'plan', done: END })
  .edges('plan', ({ notes }) => notes.map((note) => send('read', note)), ['read'])
  .compile()

interface Start {
  readonly topic: string
  readonly maybe?: string
  readonly mood?: 'good' | 'bad'
  readonly notes?: readonly string[]
  readonly features?: readonly Feature[]
  readonly meta?: Partial<{ author: string; pages: number }>
  readonly full?: Partial<{ a: number }>
  readonly count?: number
  readonly total?: number
  readonly list?: number
}
type Inferred = typeof whole extends Definition<infer Input, infer Output> ? [Input, Output] : never
export type Inferences = [
  Expect<Equal<{ [Key in keyof Inferred[0]]: Inferred[0][Key] }, { [Key in keyof Start]: Start[Key] }>>,
  Expect<Equal<Inferred[1], State>>,
]

const short = base
  .node('only', () => ({}))
  .edge(START, 'only')
  .compile({ returns: ({ count }) => count })
export type Returns = Expect<
  Equal<typeof short extends Definition<infer _Input, infer Output> ? Output : never, number>
>

// @ts-expect-error -- the mood is good or bad
base.node('a', () => ({ mood: 'fine' }))
// @ts-expect-error -- there is no such channel
base.node('a', () => ({ topic: 'a', wrong: 1 }))
// @ts-expect-error -- nor in what a promise gives
base.node('a', async () => ({ topic: 'a', wrong: 1 }))
// @ts-expect-error -- nor beside a goto
base.node('a', () => goto('a', { topic: 'a', wrong: 1 }))
// @ts-expect-error -- nor beside signals
base.node('a', () => raise({ topic: 'a', wrong: 1 }))
// @ts-expect-error -- what goes beside a goto must fit too
base.node('a', () => goto('a', { topic: 1 }))
// @ts-expect-error -- an update is an object
base.node('a', () => 1)
// @ts-expect-error -- a list is added to by a list
base.node('a', () => ({ notes: 'one' }))
// @ts-expect-error -- the state has no such channel
base.node('a', (state) => ({ topic: state.wrong }))
// @ts-expect-error -- a state is not written to
base.node('a', (state) => void state.notes.push('x'))
// @ts-expect-error -- there is no such signal
base.node('a', () => raise({}, { type: 'human_input_required', prompt: 'x' }))
// @ts-expect-error -- a node needs a function, or something that runs
base.node('a', 7)
// @ts-expect-error -- the topic is text, and shout takes text
base.node('a', shout, { input: ({ count }) => count, update: () => ({}) })
// @ts-expect-error -- what shout returns is text
base.node('a', shout, { input: ({ topic }) => topic, update: (loud) => ({ count: loud }) })
// @ts-expect-error -- nobody says what becomes of what it returns
base.node('a', shout, { input: ({ topic }) => topic })
// @ts-expect-error -- nobody says what it is given
base.node('a', shout, { update: (loud) => ({ topic: loud }) })
// @ts-expect-error -- an id is used once
base.node('a', () => ({})).node('a', () => ({}))
// @ts-expect-error -- there is no such policy
base.node('a', () => ({}), { policy: { retries: 2 } })

const two = base
  .node('a', () => ({}))
  .node('b', () => ({}))
  .each('item', (_item: string) => undefined)
// @ts-expect-error -- there is no such node
two.edge('a', 'c')
// @ts-expect-error -- nor to come from
two.edge('c', 'a')
// @ts-expect-error -- nor to wait for
two.edge(['a', 'c'], 'b')
// @ts-expect-error -- a node for items cannot be reached by an edge
two.edge('a', 'item')
// @ts-expect-error -- nothing comes before the start
two.edge('a', START)
// @ts-expect-error -- a router chooses among its targets
two.edges('a', () => 'b', ['a', END])
// @ts-expect-error -- targets are nodes
two.edges('a', () => 'c', ['c'])
// @ts-expect-error -- named ways are the ones that are named
two.edges('a', () => 'maybe', { yes: 'b', no: END })
// @ts-expect-error -- and lead to nodes
two.edges('a', () => 'yes', { yes: 'c' })
// @ts-expect-error -- items of this node are texts
two.edges('a', () => [send('item', 1)], ['item'])

// @ts-expect-error -- there is no node to go to
two.node('c', () => goto('nowhere')).compile()
// @ts-expect-error -- nor among several
two.node('c', ({ count }) => (count > 1 ? goto(['a', 'nowhere']) : goto('b'))).compile()
// @ts-expect-error -- items of this node are texts
two.node('c', () => [send('item', 1)]).compile()
// @ts-expect-error -- this node takes no items
two.node('c', () => [send('a', 1)]).compile()
// @ts-expect-error -- this node takes items, and nothing else
two.node('c', () => goto('item')).compile()
// @ts-expect-error -- there is nothing to go to
two.wait('c', 'Go?', { into: () => goto('nowhere') }).compile()
// @ts-expect-error -- the choices are these
two.wait('c', 'Go?', { choices: ['yes', 'no'], into: (answer) => (answer === 'maybe' ? {} : {}) })
// @ts-expect-error -- there is no such option
two.compile({ maxStep: 1 })
// A target that is only known when it runs is looked up when it runs.
two.node('c', ({ topic }) => goto(topic)).compile()

export const chain = base
  .start()
  .then('research', ({ topic }) => ({ notes: [topic] }))
  .then('loud', shout, { input: ({ topic }) => topic, update: (topic) => ({ topic }) })
  .if(({ mood }) => mood === 'good')
  .then('praise', () => ({ notes: ['good'] }))
  .else()
  .if(async ({ count }) => count > 1)
  .then('again', () => goto('research'))
  .endif()
  .endif()
  .loop(
    { until: ({ features }, { iteration }) => iteration > 2 || features.every(({ passes }) => passes), max: 3 },
    (body) =>
      body.then('implement', ({ features }) => ({ features: features.map((one) => ({ ...one, passes: true })) })),
  )
  .parallel({
    branches: {
      left: (branch) => branch.then('l', () => ({ total: 1 })).then('l2', () => goto('l')),
      right: (branch) => branch.wait('Well?', { into: (answer) => ({ notes: [answer] }) }),
    },
    mode: 'all',
    merge: ({ left, right }, before) => ({ total: left.total + right.total + before.total }),
  })
  .wait(({ topic }) => topic, { choices: ['yes', 'no'], deadline: '1d', into: (answer) => ({ notes: [answer] }) })
  .catch((error, { topic }) => ({ notes: [`${topic}: ${error.message}`] }))
  .catch(shout, { input: (error, { topic }) => topic + error.message, update: (text) => ({ notes: [text] }) })
  .end()
  .compile()

const begun = base.start().then('a', () => ({}))
// @ts-expect-error -- there is no if before
begun.else()
// @ts-expect-error -- there is no if before
begun.endif()
// @ts-expect-error -- the if has no endif
begun.if(() => true).end()
const other = begun.if(() => true).else()
// @ts-expect-error -- an if has one else
other.else()
// @ts-expect-error -- there is no such channel
begun.if(({ wrong }) => wrong)
// @ts-expect-error -- a condition says yes or no
begun.if(({ topic }) => topic)
// @ts-expect-error -- there is no such channel
begun.then('b', () => ({ wrong: 1 }))
// @ts-expect-error -- an id is used once
begun.then('a', () => ({}))
// @ts-expect-error -- nor in what an answer changes
begun.wait('Well?', { into: () => ({ topic: 1 }) })
// @ts-expect-error -- nor in a handler
begun.catch(() => ({ topic: 1 }))
// @ts-expect-error -- a body ends what it begins
begun.loop({ until: () => true }, (body) => body.if(() => true))
// @ts-expect-error -- a loop has an end
begun.loop({}, (body) => body.then('b', () => ({})))
// @ts-expect-error -- there is no such mode
begun.parallel({ branches: { one: (branch) => branch.then('b', () => ({})) }, mode: 'some' })
// @ts-expect-error -- the states of the branches have their names
begun.parallel({ branches: { one: (branch) => branch.then('b', () => ({})) }, merge: ({ two }) => two })
// @ts-expect-error -- a branch goes only to its own nodes
begun.parallel({ branches: { one: (branch) => branch.then('b', () => goto('a')) } })
// @ts-expect-error -- there is no node to go to
begun
  .then('b', () => goto('nowhere'))
  .end()
  .compile()
// @ts-expect-error -- a handler is not gone to
begun
  .then('b', () => goto('catch'))
  .catch(() => ({}))
  .end()
  .compile()

export async function hosting(): Promise<void> {
  const host = await createHost({ store: 'memory' })
  const state = await whole.invoke(host, { topic: 'x' })
  void (state satisfies State)
  void ((await short.invoke(host, { topic: 'x' })) satisfies number)
  for await (const { state: seen, step, next } of whole.stream(host, { topic: 'x' }))
    void [seen.features satisfies readonly Feature[], step satisfies number, next satisfies readonly string[]]
  void ((await whole.getState(host, 'run')).state satisfies State)
  void ((await whole.history(host, 'run'))[0]?.state satisfies State | undefined)
  const fork = await whole.updateState(host, 'run', { notes: ['x'], list: 1 }, { at: 2, asNode: 'plan' })
  void ((await fork.result()) satisfies State)
  const { id, answer, events } = fork satisfies Handle<State>
  void [id, answer, events]
  // @ts-expect-error -- the topic must be given
  await whole.invoke(host, {})
  // @ts-expect-error -- it is text
  await whole.invoke(host, { topic: 1 })
  // @ts-expect-error -- there is no such channel
  await whole.invoke(host, { topic: 'x', wrong: 1 })
  // @ts-expect-error -- there is no such channel
  await whole.updateState(host, 'run', { wrong: 1 })
  // @ts-expect-error -- what goes into a list is a list
  await whole.updateState(host, 'run', { notes: 'x' })
}

/** The shapes of run that the crash matrix kills: what each does, who acts on it, and what must come out. */
import { workflow, isNerveError, type Handle, type Host } from 'nerve'
import { foldAll } from '../../src/journal/fold.ts'
import { witnessAck } from '../../src/testing/crash-harness.ts'
import { CONTROL_SHAPES } from './control-shapes.ts'
import { STATE_SHAPES } from './state-shapes.ts'
import { ENDED, answering, chain, isOver, until, work, type Shape } from './shape.ts'

const CHOICES = { choices: ['yes', 'no'] } as const

const leaf = workflow('leaf', async (ctx, input: number) => (await chain(ctx, 'leaf', 2)) + input)
const sleeper = workflow('sleeper', async (ctx) => {
  await work(ctx, 'doze', 1)
  await ctx.sleep('1h')
})

const sequence = workflow('sequence', async (ctx) => {
  const id = ctx.uuid()
  const made = [ctx.random(), ctx.now(), id]
  const kept = await work(ctx, 'keep', made)
  ctx.emit('kept', kept.length)
  const sum = (await work(ctx, 'a', 1)) + (await work(ctx, 'b', 2)) + (await work(ctx, 'big', 'x'.repeat(6_000))).length
  await ctx.checkpoint('middle', { sum })
  const last = await work(ctx, 'c', new Map([[1, new Date(5)]]))
  return { same: JSON.stringify(kept) === JSON.stringify(made), sum, last: last.get(1)?.getTime() }
})

const all = workflow('all', (ctx) =>
  ctx.all([
    () => chain(ctx, 'same', 3),
    async () => (await work(ctx, 'same', 10, { ms: 3 })) + (await work(ctx, 'other', 20)),
    () => Promise.all([work(ctx, 'same', 100), work(ctx, 'same', 200)]),
  ]),
)

const map = workflow('map', (ctx) =>
  ctx.map(
    ['a', 'b', 'c', 'd', 'e'],
    async (item, index) => `${await work(ctx, 'first', item)}${await work(ctx, 'second', index)}`,
    { concurrency: 2, key: (item) => `item-${item}` },
  ),
)

/** One short branch against long ones of every kind; then a question, before which the run must be at rest. */
const race = workflow('race', async (ctx) => {
  const won = await ctx.race<number>([
    () => work(ctx, 'short', 7, { ms: 12 }),
    async () => (await chain(ctx, 'chain', 60)) + (await work(ctx, 'long', 1, { ms: 60_000 })),
    async () => Number(await ctx.child(sleeper, undefined)),
    async () => Number(await ctx.ask('Never answered?')),
    async () => Number(await ctx.waitFor('never')),
    async () => {
      await ctx.sleep('1h')
      return 0
    },
    () => work(ctx, 'once', 2, { ms: 60_000, effect: 'once' }),
  ])
  const answer = await ctx.ask('Go on?', { choices: ['yes', 'no'] })
  return [won, answer, await work(ctx, 'after', 8)]
})

/** A branch fails and takes its siblings with it; the run catches that, and rests at a question. */
const fallout = workflow('fallout', async (ctx) => {
  const siblings = [
    () => work(ctx, 'breaks', 0, { ms: 12, fails: 1 }),
    async () => (await chain(ctx, 'chain', 60)) + (await work(ctx, 'long', 1, { ms: 60_000 })),
    () => ctx.child(sleeper, undefined),
    () => ctx.ask('Never answered?'),
    () => work(ctx, 'once', 2, { ms: 60_000, effect: 'once' }),
  ]
  const caught = await ctx.all(siblings).then(
    () => 'nothing',
    (error: Error) => error.message,
  )
  return [caught, await ctx.ask('Go on?', { choices: ['yes', 'no'] }), await work(ctx, 'after', 8)]
})

const child = workflow('child', async (ctx) => {
  const first = await ctx.child(leaf, await work(ctx, 'before', 100))
  const second = await ctx.child(leaf, 200)
  return [first, second, await work(ctx, 'after', 1)]
})

const nested = workflow('nested', (ctx) =>
  ctx.all([
    () => ctx.map([1, 2, 3], (item) => ctx.child(leaf, item * 10), { concurrency: 2 }),
    () => chain(ctx, 'beside', 4),
  ]),
)

/** Two questions, and work beside them: a run with an open question can have more to do. */
const question = workflow('question', (ctx) =>
  ctx.all([
    async () => `${await ctx.ask('First?', { choices: ['one', 'two'] })}${await work(ctx, 'first', 1)}`,
    async () => `${await ctx.ask('Second?', { choices: ['three', 'four'] })}${await work(ctx, 'second', 2)}`,
    () => chain(ctx, 'beside', 4),
  ]),
)

/** Functions of steps that ask while they run, one of them twice; the question of a killed process is asked again. */
const inquiring = workflow('inquiring', (ctx) =>
  ctx.all([
    () => ctx.step('first', async ({ ask }) => [await ask('One?', CHOICES), await ask('Two?', CHOICES)]),
    async () => [await work(ctx, 'before', 1), await ctx.step('second', ({ ask }) => ask('Three?', CHOICES))],
    () => chain(ctx, 'beside', 4),
  ]),
)

/** Steps that are parked until their answer comes, one of them twice. */
const parking = workflow('parking', (ctx) =>
  ctx.all([
    () =>
      ctx.step('twice', async ({ answer, kept, keep, park }) => {
        if (answer === undefined) park('First?', CHOICES)
        if (kept === undefined) {
          await keep('asked once')
          park('Again?', CHOICES)
        }
        return [kept, answer]
      }),
    () => ctx.step('once', ({ answer, park }) => answer ?? park('Once?', CHOICES)),
    () => chain(ctx, 'beside', 4),
  ]),
)

/** Nothing to do but to wait for answers, one after the other. */
const interview = workflow('interview', async (ctx) => {
  const told: unknown[] = []
  for (let i = 0; i < 3; i += 1) told.push(await ctx.ask(`Question ${i}?`, { choices: ['one', 'three'] }))
  return told
})

const sleep = workflow('sleep', async (ctx) => {
  await work(ctx, 'before', 1)
  await ctx.sleep(25)
  const answer = await ctx.ask('Quick?', { deadline: 15, onDeadline: { default: 'too late' } })
  const both = await ctx.all([() => ctx.sleep(20), () => chain(ctx, 'beside', 3)])
  return [answer, both[1], await work(ctx, 'after', 2)]
})

const deadline = workflow('deadline', (ctx) =>
  ctx.all([() => ctx.ask('In time?', { deadline: 15, onDeadline: 'cancel' }), () => chain(ctx, 'beside', 60)]),
)

const signal = workflow('signal', async (ctx) => {
  const first = await ctx.waitFor('go')
  await work(ctx, 'between', 1)
  const [second] = await ctx.all([() => ctx.waitFor('go'), () => chain(ctx, 'beside', 3)])
  return [first, second, await ctx.messages()]
})

const retry = workflow('retry', async (ctx) => [
  await work(ctx, 'flaky', 3, { attempts: 3, fails: 2, backoff: 6 }),
  await work(ctx, 'hopeless', 0, { attempts: 2, fails: 9, backoff: 2, onError: { skip: 5 } }),
  await work(ctx, 'helped', 0, { fails: 9, onError: { fallback: () => 6 } }),
])

const pause = workflow('pause', (ctx) => ctx.all([() => chain(ctx, 'left', 8), () => chain(ctx, 'right', 8)]))

const fork = workflow('fork', async (ctx, input: number) => {
  const a = await work(ctx, 'a', input)
  const b = await work(ctx, 'b', a + 1)
  return [a, b, await work(ctx, 'c', b + 1)]
})

const once = workflow('once', async (ctx) => [
  await work(ctx, 'plain', 1),
  await work(ctx, 'pay', 2, { effect: 'once', ms: 3 }),
  await work(ctx, 'post', 3, { effect: 'once', ms: 3 }),
])

const budget = workflow('budget', { budget: { steps: 4 } }, async (ctx) => {
  const sums = await ctx.all([() => chain(ctx, 'left', 4), () => ctx.child(leaf, 1)])
  return [...sums, await chain(ctx, 'last', 3)]
})

/** Cancelled while it works, waits, and has children that do both. */
const cancel = workflow('cancel', (ctx) =>
  ctx.all([
    () => chain(ctx, 'chain', 200),
    () => ctx.child(sleeper, undefined),
    () => ctx.map([1, 2], () => ctx.child(sleeper, undefined)),
    () => ctx.ask('Never answered?'),
  ]),
)

/** Paused with work left and a question open; its first process dies as soon as that is known. */
const held = workflow('held', (ctx) =>
  ctx.all([() => ctx.ask('Go on?', { choices: ['yes', 'no'] }), () => chain(ctx, 'beside', 6)]),
)

/** One step after the other, slow enough to be stopped in the middle of it. */
const slow = workflow('slow', async (ctx) => {
  let sum = 0
  for (let i = 1; i <= 12; i += 1) sum += await work(ctx, 'slow', i, { ms: 15 })
  return sum
})

async function steps(host: Host, run: string): Promise<number> {
  return (await host.journal(run)).filter(({ event }) => event.type === 'step-completed').length
}

async function inFlight(host: Host, run: string): Promise<number> {
  return foldAll(run, await host.journal(run)).inFlight.size
}

async function pausing(host: Host, run: Handle): Promise<void> {
  await until(async () => ((await steps(host, run.id)) >= 3 || (await isOver(host, run.id)) ? true : undefined))
  const paused = (await host.journal(run.id)).some(({ event }) => event.type === 'run-paused')
  if (!paused && !(await isOver(host, run.id))) {
    await run.pause()
    witnessAck({ run: run.id, type: 'run-paused' })
  }
  if ((await host.run(run.id)).status !== 'paused') return
  await run.resume()
  witnessAck({ run: run.id, type: 'run-resumed' })
}

async function holding(host: Host, run: Handle): Promise<void> {
  const enough = async (count: number): Promise<true | undefined> =>
    (await steps(host, run.id)) >= count || (await isOver(host, run.id)) ? true : undefined
  if (!(await host.journal(run.id)).some(({ event }) => event.type === 'run-paused')) {
    await until(() => enough(2))
    await run.pause()
    witnessAck({ run: run.id, type: 'run-paused' })
    // With nothing in flight only the code knows that there is more to do than to wait.
    await until(async () => ((await inFlight(host, run.id)) === 0 ? true : undefined))
    process.kill(process.pid, 'SIGKILL')
  }
  if ((await host.run(run.id)).status === 'paused') {
    await run.resume()
    witnessAck({ run: run.id, type: 'run-resumed' })
  }
  // Nothing but the run itself may be needed for the work beside the question.
  await until(() => enough(6))
  await answering(YES)(host, run)
}

async function forking(host: Host, run: Handle): Promise<void> {
  await run.result()
  const known = (await host.runs()).find((one) => one.forkedFrom === run.id)
  const made = known === undefined ? await run.fork({ at: 'b', set: { a: 10 } }) : await host.handle(known.run)
  witnessAck({ run: made.id, type: 'run-created' })
  const output = await made.result()
  if (JSON.stringify(output) !== '[10,11,12]' && JSON.stringify(output) !== '[10,2,3]')
    throw new Error(`the fork gave ${JSON.stringify(output)}`)
}

async function raising(host: Host, run: Handle): Promise<void> {
  const status = await until(async () => {
    const { status: now } = await host.run(run.id)
    return now === 'exhausted' || ENDED.includes(now) ? now : undefined
  })
  if (status !== 'exhausted') return
  await run.resume({ budget: { steps: 100 } })
  witnessAck({ run: run.id, type: 'budget-raised', budget: { steps: 100 } })
}

async function cancelling(host: Host, run: Handle): Promise<void> {
  await until(async () => ((await steps(host, run.id)) >= 5 || (await isOver(host, run.id)) ? true : undefined))
  try {
    await run.cancel({ reason: 'enough' })
    witnessAck({ run: run.id, type: 'cancel-requested', reason: 'enough' })
  } catch (error) {
    if (!isNerveError(error, 'run-ended')) throw error
  }
}

const YES = { ask: 'yes', recovery: 'fail' }

export const SHAPES: Readonly<Record<string, Shape>> = {
  sequence: { definitions: [sequence], expected: { same: true, sum: 6_003, last: 5 } },
  loop: { definitions: [workflow('loop', (ctx) => chain(ctx, 'again', 6))], expected: 21 },
  all: { definitions: [all], expected: [6, 30, [100, 200]] },
  map: { definitions: [map], expected: ['a0', 'b1', 'c2', 'd3', 'e4'] },
  race: { definitions: [race, sleeper], expected: [7, 'yes', 8], act: answering(YES, true) },
  fallout: {
    definitions: [fallout, sleeper],
    expected: ['attempt 1 of breaks fails', 'yes', 8],
    act: answering(YES, true),
  },
  child: { definitions: [child, leaf], expected: [103, 203, 1] },
  nested: { definitions: [nested, leaf], expected: [[13, 23, 33], 10] },
  question: { definitions: [question], expected: ['one1', 'three2', 10], outside: 'answers' },
  inquiring: {
    definitions: [inquiring],
    expected: [['yes', 'yes'], [1, 'yes'], 10],
    act: answering({ ask: 'yes' }),
  },
  parking: {
    definitions: [parking],
    expected: [['asked once', 'yes'], 'yes', 10],
    act: answering({ ask: 'yes' }),
    maxResident: 0,
  },
  interview: {
    definitions: [interview],
    expected: ['one', 'one', 'one'],
    act: answering({ ask: 'one' }, true),
    maxResident: 0,
  },
  sleep: { definitions: [sleep], expected: ['too late', 6, 2] },
  deadline: { definitions: [deadline], expected: 'cancelled' },
  signal: { definitions: [signal], expected: [1, 2, ['hello']], outside: 'signals' },
  retry: { definitions: [retry], expected: [3, 5, 6] },
  pause: { definitions: [pause], expected: [36, 36], act: pausing },
  held: { definitions: [held], expected: ['yes', 21], act: holding },
  slow: { definitions: [slow], expected: 78 },
  fork: { definitions: [fork], expected: [1, 2, 3], input: 1, act: forking },
  'once-retry': { definitions: [once], expected: [1, 2, 3], act: answering({ recovery: 'retry' }) },
  'once-skip': { definitions: [once], expected: [1, 2, 3], act: answering({ recovery: { skip: 'skipped' } }) },
  'once-fail': { definitions: [once], expected: [1, 2, 3], act: answering({ recovery: 'fail' }) },
  budget: { definitions: [budget, leaf], expected: [10, 4, 6], act: raising },
  cancel: { definitions: [cancel, sleeper], expected: 'cancelled', act: cancelling },
  ...CONTROL_SHAPES,
  ...STATE_SHAPES,
}

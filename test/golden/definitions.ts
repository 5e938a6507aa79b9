/**
 * The definitions of the golden journals. They are frozen: a journal in journals/ must replay on them for ever, so a
 * change here is a new definition with a new journal beside the old one.
 */
import { NerveError, workflow, type Context } from 'nerve'

/** What really ran: nothing, while a journal is replayed. */
export const ran: string[] = []

function work<Output>(name: string, output: Output): () => Output {
  return () => {
    ran.push(name)
    return output
  }
}

function broken(name: string): () => never {
  return () => {
    ran.push(name)
    throw Object.assign(new TypeError(`${name} is broken`), { code: 'E_BROKEN' })
  }
}

export const sequence = workflow('golden-sequence', async (ctx, input: { readonly name: string }) => {
  const began = ctx.now()
  const greeting = await ctx.step('greet', work('greet', `Hello ${input.name}`), { input })
  const rich = await ctx.step(
    'rich',
    work('rich', { at: new Date(5), map: new Map([['k', 1n]]), set: new Set([Number.NaN]) }),
  )
  ctx.emit('halfway', { percent: 50 })
  await ctx.checkpoint('half', { greeting })
  const large = await ctx.step('large', work('large', 'x'.repeat(10_000)))
  for (let i = 0; i < 3; i += 1) await ctx.step('loop', work('loop', i))
  return { greeting, rich, size: large.length, draws: [typeof ctx.random(), ctx.uuid().length, ctx.now() >= began] }
})

export const parallel = workflow('golden-parallel', async (ctx) => {
  const pair = await ctx.all([() => ctx.step('a', work('a', 1)), () => ctx.step('a', work('b', 2))], { label: 'pair' })
  const plain = await Promise.all([ctx.step('p', work('p1', 'p1')), ctx.step('p', work('p2', 'p2'))])
  const items = await ctx.map(['x', 'y', 'z'], (item) => ctx.step('work', work(item, item.toUpperCase())), {
    key: (item) => item,
    concurrency: 2,
  })
  const first = await ctx.race<unknown>([
    () => ctx.step('hang', () => new Promise<never>(() => undefined)),
    () => ctx.ask('Nobody?'),
    () => ctx.waitFor('never'),
    () => ctx.sleep('1m'),
  ])
  return { pair, plain, items, first: first ?? 'slept' }
})

export const trouble = workflow('golden-trouble', async (ctx) => {
  const retried = await ctx.step(
    'retried',
    ({ attempt }) => {
      ran.push('retried')
      if (attempt < 3) throw new Error(`attempt ${attempt}`)
      return attempt
    },
    { attempts: 3, backoff: 10 },
  )
  const skipped = await ctx.step<string>('skipped', broken('skipped'), { onError: { skip: 'instead' } })
  const fallen = await ctx.step<string>('fallen', broken('fallen'), {
    onError: { fallback: work('fallback', 'plan b') },
  })
  const caught = await ctx
    .step('caught', broken('caught'))
    .catch((error: Error & { code?: string }) => `${error.name} ${error.code} ${error.message}`)
  const quota = await ctx.step('quota', ({ attempt }) => {
    ran.push('quota')
    if (ran.filter((one) => one === 'quota').length === 1) {
      throw new NerveError('quota', 'slow down', { retry: 'pause', data: { retryAfter: '1h' } })
    }
    return attempt
  })
  return { retried, skipped, fallen, caught, quota }
})

export const talk = workflow('golden-talk', async (ctx) => {
  const [first, second] = await Promise.all([ctx.ask('First?'), ctx.ask('Second?', { choices: ['left', 'right'] })])
  const gate = await ctx.gate('Go on?', { detail: { why: 'because' } })
  const late = await ctx.ask('Late?', { deadline: '1h', onDeadline: { default: 'nobody' } })
  const tooLate = await ctx.ask('Too late?', { deadline: '1h' }).catch((error: { code: string }) => error.code)
  const signal = await ctx.waitFor('go')
  const noSignal = await ctx.waitFor('stop', { deadline: '1h' }).catch((error: { code: string }) => error.code)
  return { first, second, gate, late, tooLate, signal, noSignal, messages: await ctx.messages() }
})

export const careful = workflow('golden-careful', (ctx) =>
  ctx.step(
    'work',
    async ({ attempt, keep, kept, ask }) => {
      ran.push('work')
      if (attempt === 1) {
        await keep({ session: 7 })
        throw new Error('not yet')
      }
      void ask('Never mind?').catch(() => undefined)
      return { kept, may: await ask('May I?', { kind: 'permission', choices: ['yes', 'no'] }) }
    },
    { attempts: 2, backoff: '1m' },
  ),
)

export const spender = workflow('golden-spender', { budget: { tokens: 100 } }, async (ctx) => {
  for (let i = 0; i < 3; i += 1) {
    await ctx.step(
      'spend',
      ({ usage }) => {
        ran.push('spend')
        usage({ tokens: 45, usd: 0.25, calls: 1, window: 0.5 })
      },
      { reserve: { tokens: 45 } },
    )
  }
  return ctx.usage().spent.tokens
})

const leaf = workflow('golden-leaf', async (ctx, n: number) => {
  if (n < 0) return ctx.step('fail', broken('leaf'))
  return ctx.step('double', work('leaf', n * 2))
})

export const family = workflow('golden-family', async (ctx, n: number) => {
  const children = await ctx.map([n, n + 1], (one) => ctx.child(leaf, one))
  const failed = await ctx.child(leaf, -1, { label: 'bad' }).catch((error: Error) => error.message)
  return { children, failed, depth: await nested(ctx) }
})

function nested(ctx: Context<number>): Promise<number> {
  return ctx.child(middle, 1)
}

const middle = workflow('golden-middle', (ctx, n: number) => ctx.child(leaf, n + 10))

export const steered = workflow('golden-steered', async (ctx) => {
  await ctx.waitFor('go')
  return ctx.step(
    'work',
    ({ attempt }) => (attempt === 1 ? new Promise<string>(() => undefined) : work('steered', 'second')()),
    { attempts: 2, backoff: 1 },
  )
})

export const stopped = workflow('golden-stopped', async (ctx) => {
  await ctx.step('first', work('first', 1))
  return ctx.all([() => ctx.waitFor('never'), () => ctx.step('hang', () => new Promise<never>(() => undefined))])
})

export const failing = workflow('golden-failing', async (ctx) => {
  await ctx.step('fine', work('fine', 1))
  return ctx.step('bad', broken('bad'))
})

/** As it is now. The journal was begun by code that also had a step `old`. */
const edited = workflow('golden-edited', async (ctx) => {
  const kept = await ctx.step('kept', work('kept', 'kept'))
  await ctx.waitFor('go')
  return [kept, await ctx.step('late', work('late', 'new ending'))]
})

export const waiting = workflow('golden-waiting', async (ctx, name: string) => {
  const first = await ctx.step('first', work('first', `${name} first`))
  const [answer] = await ctx.all([() => ctx.ask('Still there?'), () => ctx.step('beside', work('beside', 1))])
  return [first, answer, await ctx.step('last', work('last', `${name} last`))]
})

export const definitions = [
  sequence,
  parallel,
  trouble,
  talk,
  careful,
  spender,
  family,
  middle,
  leaf,
  steered,
  stopped,
  failing,
  edited,
  waiting,
]

/** What happens to an agent while it runs: it is blocked, gets messages, is cancelled, or its process dies. */
import { describe, expect, it } from 'vitest'
import { createHost, defineNode, workflow } from 'nerve'
import {
  agentGraph,
  agentStates,
  blocked,
  cancelAgent,
  inbox,
  sendToAgent,
  type AgentTask,
  type Blocked,
} from 'nerve/agents'
import { SimulatedClock } from 'nerve/testing'
import { storeOf } from '../properties/recording-store.ts'
import { gate, openStage, quiet, rejection, timePasses, until } from './stage.ts'

const echo = defineNode('echo', ({ upstream }: AgentTask) => upstream)

/** Asks what to do, then does it. */
const unsure = defineNode('unsure', ({ answer, turn }: AgentTask) => {
  if (answer === undefined) throw blocked('Which way?', { detail: { turn } })
  return `went ${answer as string}`
})

describe('a blocked agent', () => {
  it('asks a person, and goes on with the answer', async () => {
    const { host } = await openStage()
    const team = agentGraph('team').agent('a', { bundle: unsure }).agent('b', { bundle: echo })
    team.after('a').run('b')
    const run = await host.start(team)
    expect(await run.rest()).toBe('waiting')
    const [question] = await host.inbox()
    expect(question).toMatchObject({ prompt: 'Which way?' })
    const now = agentStates(team, await host.journal(run.id))
    expect(now['a']).toMatchObject({ state: 'blocked', reason: 'Which way?', questions: [question?.id], turn: 1 })
    expect(now['b']).toMatchObject({ state: 'pending' })
    await host.answer(question?.id ?? '', 'left')
    expect(await run.result()).toEqual({ a: 'went left', b: { a: 'went left' } })
    expect((await host.run(run.id)).status).toBe('completed')
    expect(agentStates(team, await host.journal(run.id))['a']).toMatchObject({ state: 'completed', turn: 2 })
    expect((await host.replay(run.id)).problems).toEqual([])
  })

  it('is skipped or failed by the answer', async () => {
    const { host } = await openStage()
    const team = agentGraph('team', { errorPolicy: 'skip' })
      .agent('a', { bundle: unsure })
      .agent('b', { bundle: unsure })
      .agent('c', { bundle: echo })
    team.after('a').run('c')
    const run = await host.start(team)
    await run.rest()
    const questions = await host.inbox()
    expect(questions).toHaveLength(2)
    for (const { id, path } of questions)
      await run.answer(id, path.startsWith('a/') ? { skip: 7 } : { fail: 'no time' })
    expect(await run.result()).toEqual({ a: 7, c: { a: 7 } })
    expect(agentStates(team, await host.journal(run.id))['b']).toMatchObject({
      state: 'failed',
      reason: 'It is blocked: Which way? It was decided that it fails: no time',
    })
    expect((await host.replay(run.id)).problems).toEqual([])
  })

  it('has choices, and may return that it is blocked instead of throwing it', async () => {
    const { host } = await openStage()
    const picky = defineNode('picky', ({ answer }: AgentTask): unknown =>
      answer === undefined ? blocked('Which?', { choices: ['red', 'green'] }) : answer,
    )
    const run = await host.start(agentGraph('team').agent('a', { bundle: picky }))
    await run.rest()
    const [question] = await host.inbox()
    expect((await rejection(host.answer(question?.id ?? '', 'blue'))).code).toBe('answer-rejected')
    await host.answer(question?.id ?? '', '2')
    expect(await run.result()).toEqual({ a: 'green' })
  })

  it('is decided on by a handler, once, and by a person when the handler does not know', async () => {
    const { host } = await openStage()
    const heard: Blocked[] = []
    const team = agentGraph('team')
      .agent('a', { bundle: unsure })
      .agent('b', { bundle: unsure })
      .agent('c', { bundle: unsure })
      .agent('d', { bundle: unsure })
      .onBlocked((stuck) => {
        heard.push(stuck)
        if (stuck.agent === 'a') return 'right'
        if (stuck.agent === 'b') return { skip: 'nothing' }
        return stuck.agent === 'c' ? { answer: 3 } : undefined
      })
    const run = await host.start(team)
    await run.rest()
    const [question] = await host.inbox()
    await host.answer(question?.id ?? '', 'asked')
    expect(await run.result()).toEqual({ a: 'went right', b: 'nothing', c: 'went 3', d: 'went asked' })
    expect(heard).toHaveLength(4)
    expect(heard[0]).toEqual({ agent: 'a', bundle: 'unsure', turn: 1, reason: 'Which way?', detail: { turn: 1 } })
    expect((await host.replay(run.id)).problems).toEqual([])
    expect(heard).toHaveLength(4)
  })

  it('is a definition that asks by itself, or throws', async () => {
    const { host } = await openStage()
    const asks = workflow('asks', async (ctx, task: AgentTask) => {
      const sure = await ctx.ask('Sure?')
      if (task.answer === undefined) throw blocked('Really?')
      return [sure, task.answer]
    })
    const team = agentGraph('team').agent('a', { bundle: asks, policy: { attempts: 3, onError: { skip: ['never'] } } })
    const run = await host.start(team)
    for (const [prompt, answer] of [
      ['Sure?', 1],
      ['Really?', 2],
      ['Sure?', 3],
    ] as const) {
      await run.rest()
      const [question] = await host.inbox()
      expect(question?.prompt).toBe(prompt)
      expect(agentStates(team, await host.journal(run.id))['a']).toMatchObject({ state: 'blocked', reason: prompt })
      await host.answer(question?.id ?? '', answer)
    }
    expect(await run.result()).toEqual({ a: [3, 2] })
    expect((await host.replay(run.id)).problems).toEqual([])
  })

  it('outside an agent graph is an error that says so', async () => {
    const { host } = await openStage()
    const run = await host.start(workflow('alone', (ctx) => ctx.run(unsure, {} as AgentTask)))
    const error = await rejection(run.result())
    expect((error.cause as { code?: string }).code).toBe('blocked')
  })
})

describe('messages to an agent', () => {
  it('that come while a node runs are handed to its next turn, each once', async () => {
    const { host } = await openStage()
    const turns: AgentTask[] = []
    const open: PromiseWithResolvers<string>[] = []
    const works = defineNode('works', (task: AgentTask) => {
      turns.push(task)
      const waiting = gate<string>()
      open.push(waiting)
      return waiting.promise
    })
    const team = agentGraph('team').agent('a', { bundle: works, target: 'x' })
    const run = await host.start(team)
    await until(() => open.length === 1)
    await sendToAgent(run, 'a', 'one')
    await sendToAgent(run, 'a', { two: 2 })
    expect(agentStates(team, await host.journal(run.id))['a']).toMatchObject({ unread: 2, turn: 1 })
    open[0]?.resolve('first')
    await until(() => open.length === 2)
    await quiet()
    expect(agentStates(team, await host.journal(run.id))['a']).toMatchObject({ unread: 0, turn: 2 })
    open[1]?.resolve('second')
    expect(await run.result()).toEqual({ a: 'second' })
    expect(turns.map(({ turn, messages, previous }) => ({ turn, messages, previous }))).toEqual([
      { turn: 1, messages: [], previous: undefined },
      { turn: 2, messages: ['one', { two: 2 }], previous: 'first' },
    ])
    expect((await host.replay(run.id)).problems).toEqual([])
  })

  it('that come before it starts are in its first turn', async () => {
    const { host } = await openStage()
    const first = gate<string>()
    const team = agentGraph('team')
      .agent('a', { bundle: defineNode('slow', (_: AgentTask) => first.promise) })
      .agent('b', { bundle: defineNode('reads', ({ messages }: AgentTask) => messages) })
    team.after('a').run('b')
    const run = await host.start(team)
    await quiet()
    await sendToAgent(run, 'b', 'early')
    first.resolve('done')
    expect(await run.result()).toEqual({ a: 'done', b: ['early'] })
  })

  it('are read by a definition when it likes', async () => {
    const { host } = await openStage()
    const listens = workflow('listens', async (ctx, task: AgentTask) => {
      const early = await inbox(ctx).messages()
      const read: unknown[] = []
      for await (const message of inbox(ctx)) {
        read.push(message)
        if (message === 'stop') break
      }
      return { early, read, turn: task.turn }
    })
    const team = agentGraph('team').agent('a', { bundle: listens })
    const run = await host.start(team)
    await run.rest()
    expect(agentStates(team, await host.journal(run.id))['a']).toMatchObject({ state: 'running' })
    for (const message of ['x', 'y', 'stop']) await sendToAgent(run, 'a', message)
    expect(await run.result()).toEqual({ a: { early: [], read: ['x', 'y', 'stop'], turn: 1 } })
    expect((await host.replay(run.id)).problems).toEqual([])
  })

  it('go to the agent of that path', async () => {
    const { host } = await openStage()
    const waits = workflow('waits', (ctx, _: AgentTask) => inbox(ctx).next())
    const team = agentGraph('team').agent('a', { bundle: waits })
    const run = await host.start(workflow('outer', (ctx) => ctx.all([() => ctx.run(team), () => ctx.run(team)])))
    await run.rest()
    await sendToAgent(run, 'all/1/team/a', 'to the second')
    await sendToAgent(run, 'all/0/team/a', 'to the first')
    expect(await run.result()).toEqual([{ a: 'to the first' }, { a: 'to the second' }])
  })

  it('that nobody will read are refused', async () => {
    const { host } = await openStage()
    const team = agentGraph('team').agent('a', { bundle: echo }).agent('b', { bundle: unsure })
    const run = await host.start(team)
    await run.rest()
    expect((await rejection(sendToAgent(run, 'a', 'late'))).message).toMatch(/Agent 'a' .* is completed/u)
    expect((await rejection(sendToAgent(run, 'nobody', 'x'))).message).toMatch(/It has: a, b\./u)
    expect((await rejection(cancelAgent(run, 'a'))).code).toBe('run-ended')
    expect(() => inbox({} as never)).toThrow(/agentGraph/u)
  })
})

describe('an agent that is cancelled', () => {
  const stuck = () => {
    let stopped = 0
    const works = defineNode('works', (_: AgentTask, { signal }) => {
      return new Promise<string>(() => signal.addEventListener('abort', () => (stopped += 1)))
    })
    return { works, stopped: () => stopped }
  }

  for (const errorPolicy of ['stop', 'skip', 'continue'] as const) {
    it(`${errorPolicy}: stops alone`, async () => {
      const { host, clock } = await openStage()
      const { works, stopped } = stuck()
      const team = agentGraph('team', { errorPolicy })
        .agent('a', { bundle: works })
        .agent('b', { bundle: echo })
        .agent('c', { bundle: unsure })
        .onBlocked('ask')
      team.after('a').run('b')
      const run = await host.start(team)
      await quiet()
      await cancelAgent(run, 'a', { reason: 'not needed', by: 'somebody' })
      await quiet()
      expect(stopped()).toBe(1)
      const now = agentStates(team, await host.journal(run.id))
      expect(now['a']).toMatchObject({ state: 'cancelled', reason: 'not needed' })
      expect(now['b']?.state).toBe(errorPolicy === 'continue' ? 'completed' : 'cancelled')
      expect(now['c']?.state).toBe('blocked')
      const [question] = await host.inbox()
      await host.answer(question?.id ?? '', 'on')
      expect(await timePasses(clock, run.result())).toEqual({
        c: 'went on',
        ...(errorPolicy === 'continue' ? { b: {} } : {}),
      })
      expect((await host.run(run.id)).status).toBe('completed')
      expect((await host.replay(run.id)).problems).toEqual([])
    })
  }

  it('takes its questions along', async () => {
    const { host } = await openStage()
    const team = agentGraph('team').agent('a', { bundle: unsure })
    const run = await host.start(team)
    await run.rest()
    expect(await host.inbox()).toHaveLength(1)
    await cancelAgent(run, 'a')
    expect(await run.result()).toEqual({})
    expect(await host.inbox()).toEqual([])
    expect(agentStates(team, await host.journal(run.id))['a']).toMatchObject({ state: 'cancelled', questions: [] })
  })

  it('before it starts never starts its work', async () => {
    const { host } = await openStage()
    let ran = 0
    const first = gate<string>()
    const team = agentGraph('team', { maxParallel: 1 })
      .agent('a', { bundle: defineNode('slow', (_: AgentTask) => first.promise) })
      .agent('b', { bundle: defineNode('counts', (_: AgentTask) => (ran += 1)) })
      .agent('c', { bundle: echo })
    team.runSequential('b', 'c')
    const run = await host.start(team)
    await quiet()
    await cancelAgent(run, 'b')
    expect(agentStates(team, await host.journal(run.id))).toMatchObject({
      a: { state: 'running' },
      b: { state: 'cancelled' },
    })
    first.resolve('done')
    expect(await run.result()).toEqual({ a: 'done' })
    expect(ran).toBe(0)
    expect((await host.replay(run.id)).problems).toEqual([])
  })
})

describe('a crash', () => {
  it('at any event leaves agents that end the same, and no turn or message twice', async () => {
    const { host } = await openStage()
    const works = defineNode('works', async ({ messages, answer, agent }: AgentTask) => {
      await Promise.resolve()
      if (agent === 'b' && answer === undefined) throw blocked('Go on?')
      return [messages, answer ?? null]
    })
    const listens = workflow('listens', async (ctx, _: AgentTask) => [await inbox(ctx).next(), await inbox(ctx).next()])
    const team = agentGraph('team', { errorPolicy: 'continue', maxParallel: 3 })
      .agent('a', { bundle: works })
      .agent('b', { bundle: works })
      .agent('c', { bundle: listens })
      .agent('d', { bundle: 'never', node: defineNode('never', (_: AgentTask) => new Promise(() => undefined)) })
      .agent('e', { bundle: works })
    team.after(['b', 'd']).run('e')
    const run = await host.start(team)
    await run.signal('agent:c', 'one')
    await quiet()
    const [question] = await host.inbox()
    await host.answer(question?.id ?? '', 'yes')
    await sendToAgent(run, 'c', 'two')
    await quiet()
    await cancelAgent(run, 'd', { reason: 'enough' })
    const result = await run.result()
    expect(result).toEqual({ a: [[], null], b: [[], 'yes'], c: ['one', 'two'], e: [[], null] })
    const entries = await host.journal(run.id)
    for (let cut = 1; cut <= entries.length; cut += 1) {
      const kept = entries.slice(0, cut)
      const later = await createHost({ store: await storeOf(kept), clock: new SimulatedClock(), definitions: [team] })
      const again = await later.handle(run.id)
      await helpAlong(later, again, team)
      expect(await again.result(), `cut after ${cut}`).toEqual(result)
      const done = (await later.journal(run.id)).flatMap(({ event }) =>
        event.type === 'step-completed' ? [event.path] : [],
      )
      expect(new Set(done).size, `cut after ${cut}`).toBe(done.length)
      await later.close()
    }
  })
})

type Later = Awaited<ReturnType<typeof createHost>>

/** Does what was not done before the crash. */
async function helpAlong(
  host: Later,
  run: Awaited<ReturnType<Later['handle']>>,
  team: Parameters<typeof agentStates>[0],
) {
  const ended = run.result().then(
    () => true,
    () => true,
  )
  let over = false
  void ended.then(() => (over = true))
  for (let round = 0; round < 50 && !over; round += 1) {
    await quiet(4)
    const entries = await host.journal(run.id)
    const sent = entries.flatMap(({ event }) => (event.type === 'signal-received' ? [event.name] : []))
    const [question] = await host.inbox()
    if (over) return
    if (question !== undefined) await run.answer(question.id, 'yes')
    else if (sent.filter((name) => name === 'agent:c').length === 0) await run.signal('agent:c', 'one')
    else if (sent.filter((name) => name === 'agent:c').length === 1) await run.signal('agent:c', 'two')
    else if (!sent.includes('cancel:d') && agentStates(team, entries)['b']?.state === 'completed')
      await cancelAgent(run, 'd', { reason: 'enough' })
  }
}

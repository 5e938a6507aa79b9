/** Agent graphs: order, policies, blocked agents, messages, cancelling one, and what is to be seen of it. */
import { describe, expect, it } from 'vitest'
import { createRegistry, defineNode, workflow, type Host, type Node } from 'nerve'
import { agentGraph, agentStates, cancelAgent, type AgentGraph, type AgentTask } from 'nerve/agents'
import { graph } from 'nerve/graph'
import { gate, openStage, quiet, rejection, timePasses, until } from './stage.ts'

const echo = defineNode('echo', ({ agent, target, upstream }: AgentTask) => ({ agent, target, upstream }))
const fails = defineNode('fails', (_: AgentTask): string => {
  throw new Error('no')
})
const never = defineNode('never', (_: AgentTask) => new Promise<string>(() => undefined))

async function states(
  host: Host,
  run: string,
  definition: Pick<AgentGraph, 'steps'>,
  at?: string,
): Promise<Record<string, string>> {
  const found = agentStates(definition, await host.journal(run), at === undefined ? {} : { at })
  return Object.fromEntries(Object.entries(found).map(([name, { state }]) => [name, state]))
}

async function sameAgain(host: Host, run: string): Promise<void> {
  expect((await host.replay(run)).problems).toEqual([])
}

describe('an agent graph', () => {
  it('runs agents after those that they come after, and hands them target and results', async () => {
    const { host } = await openStage()
    host.register(echo)
    const review = agentGraph<{ file: string }>('review')
      .agent('lint', { bundle: 'echo', target: 'let a' })
      .agent('docs', { bundle: echo, targetFn: (_, { input }) => input.file })
      .agent('tests', { bundle: 'tests', node: echo })
      .agent('summary', { bundle: echo, target: 'all' })
      .after('lint')
      .run('docs', 'tests')
      .after(['docs', 'tests'])
      .run('summary')
    const run = await host.start(review, { file: 'a.ts' })
    const result = (await run.result()) as Record<string, { agent: string; target: unknown; upstream: object }>
    expect(result['lint']).toEqual({ agent: 'lint', target: 'let a', upstream: {} })
    expect(result['docs']).toEqual({ agent: 'docs', target: 'a.ts', upstream: { lint: result['lint'] } })
    expect(Object.keys(result['summary']?.upstream ?? {})).toEqual(['docs', 'tests'])
    expect(review.order()).toEqual(['lint', 'docs', 'tests', 'summary'])
    expect(await states(host, run.id, review)).toEqual({
      lint: 'completed',
      docs: 'completed',
      tests: 'completed',
      summary: 'completed',
    })
    await sameAgain(host, run.id)
  })

  it('has sequences and things beside each other', () => {
    const one = agentGraph('one')
      .agent('a', { bundle: echo })
      .agent('b', { bundle: echo })
      .agent('c', { bundle: echo })
      .agent('d', { bundle: echo })
    one.runSequential('a', 'b', 'c').after('a').runParallel('d')
    expect(one.validate()).toEqual([])
    expect(one.steps().map(({ id, after }) => [id, after])).toEqual([
      ['a', []],
      ['b', ['a']],
      ['c', ['b']],
      ['d', ['a']],
    ])
    one.after('d').runSequential('b', 'c').runParallel('a', 'c')
    expect(one.validate()).toEqual(["agents 'a' and 'c' are to run in parallel, and 'c' comes after 'a'."])
  })

  it('names every problem at once', async () => {
    const { host } = await openStage()
    const chat = defineNode('chat', (_: AgentTask) => 1, { persistent: true })
    const bad = agentGraph('bad')
      .agent('', { bundle: echo })
      .agent('twice', { bundle: echo })
      .agent('twice', { bundle: echo })
      .agent('none', {} as never)
      .agent('named', { bundle: 'nobody' })
      .agent('both', { bundle: echo, target: 1, targetFn: () => 2 })
      .agent('p', { bundle: echo })
      .agent('q', { bundle: echo })
    bad.after('nowhere' as never).run('p', 'lost' as never)
    bad.after('both').run('both')
    bad.runParallel('gone' as never)
    bad.runSequential('p', 'q', 'p')
    expect(bad.validate(host.registry.names)).toEqual([
      `"" is not a name for an agent: use 1 to 200 characters without '/', '#' and line breaks.`,
      "two agents have the name 'twice'.",
      "agent 'none' has no bundle: give a node, a definition, or the name of one.",
      "agent 'named' has the bundle 'nobody', which is not known here.",
      "agent 'both' has both target and targetFn. Give one of them.",
      "after('nowhere') names 'nowhere', which is no agent of this graph.",
      "after('nowhere') names 'lost', which is no agent of this graph.",
      "agent 'both' comes after itself.",
      "runParallel names 'gone', which is no agent of this graph.",
      "these agents wait for each other in a cycle: 'p' → 'q' → 'p'.",
    ])
    expect((await rejection(host.start(bad))).code).toBe('bad-definition')
    expect(agentGraph('empty').validate()).toEqual(['it has no agents. Add one: agent(name, { bundle, target }).'])
    const sharing = agentGraph('sharing').agent('a', { bundle: chat }).agent('b', { bundle: chat })
    expect(sharing.validate()).toEqual([
      "agents 'a' and 'b' could use the persistent node 'chat' at the same time. Put one after the other, or fork the node.",
    ])
    expect(sharing.runSequential('a', 'b').validate()).toEqual([])
    const inner = agentGraph('inner').agent('x', { bundle: graph('empty') as never })
    expect(inner.validate(createRegistry().names)).toEqual(["in agent 'x': it has no steps. Add one: step(id, node)."])
  })

  it('can be drawn, also as a part of a graph', () => {
    const team = agentGraph('team').agent('a', { bundle: echo }).agent('b', { bundle: 'linter', node: echo })
    team.after('a').run('b')
    expect(team.explain()).toBe(['team (agent-graph)', '  a (agent, echo)', '  b (agent, linter) after a'].join('\n'))
    expect(graph('outer').step('team', team).mermaid()).toContain('subgraph')
  })

  it('is a step of other definitions: one run, one journal', async () => {
    const { host } = await openStage()
    const team = agentGraph<string>('team').agent('a', { bundle: echo, targetFn: (_, { input }) => input })
    const outer = workflow('outer', (ctx) => ctx.map(['x', 'y'], async (name) => (await ctx.run(team, name)).a))
    const run = await host.start(outer)
    expect(await run.result()).toMatchObject([
      { agent: 'map/0/team/a', target: 'x' },
      { agent: 'map/1/team/a', target: 'y' },
    ])
    expect(await states(host, run.id, team, 'map/1/team')).toEqual({ a: 'completed' })
    await sameAgain(host, run.id)
  })

  it('has copies, with copies of its persistent nodes', async () => {
    const { host } = await openStage()
    const chat = (id: string): Node<AgentTask, string> =>
      defineNode(id, (_: AgentTask) => id, { persistent: true, fork: chat })
    const team = agentGraph('team')
      .agent('a', { bundle: chat('chat') })
      .agent('b', { bundle: echo })
    team.after('a').run('b')
    const copy = team.fork('other')
    expect(await (await host.start(copy)).result()).toMatchObject({ a: 'chat-other' })
    expect(await (await host.start(team)).result()).toMatchObject({ a: 'chat' })
  })
})

describe('an agent that fails', () => {
  const build = (errorPolicy: 'stop' | 'skip' | 'continue') => {
    const team = agentGraph('team', { errorPolicy })
      .agent('bad', { bundle: fails })
      .agent('after', { bundle: echo })
      .agent('behind', { bundle: echo })
      .agent('beside', { bundle: defineNode('beside', async (_: AgentTask) => 'beside') })
      .agent('slow', { bundle: never })
    team.runSequential('bad', 'after', 'behind')
    return team
  }

  it('stop: everything stops', async () => {
    const { host } = await openStage()
    const team = build('stop')
    const run = await host.start(team)
    expect((await rejection(run.result())).message).toMatch(/no/u)
    expect(await states(host, run.id, team)).toEqual({
      bad: 'failed',
      after: 'cancelled',
      behind: 'cancelled',
      beside: 'cancelled',
      slow: 'cancelled',
    })
  })

  it('skip: what comes after it does not run, the rest goes on', async () => {
    const { host } = await openStage()
    const team = build('skip')
    const run = await host.start(team)
    await quiet()
    const now = agentStates(team, await host.journal(run.id))
    expect(now['after']).toMatchObject({
      state: 'cancelled',
      reason: "Step 'bad', which comes before it, failed.",
    })
    expect(await states(host, run.id, team)).toMatchObject({ bad: 'failed', beside: 'completed', slow: 'running' })
    await cancelAgent(run, 'slow')
    expect(await run.result()).toEqual({ beside: 'beside' })
    expect((await host.run(run.id)).status).toBe('completed-with-failures')
    await sameAgain(host, run.id)
  })

  it('continue: what comes after runs without it', async () => {
    const { host } = await openStage()
    const team = build('continue')
    const run = await host.start(team)
    await quiet()
    await cancelAgent(run, 'slow')
    const result = await run.result()
    expect(Object.keys(result)).toEqual(['after', 'behind', 'beside'])
    await sameAgain(host, run.id)
  })

  it('in a graph inside another that goes on takes its graph along, and the journal says so', async () => {
    const { host } = await openStage()
    const team = build('stop')
    const outer = graph('outer', { errorPolicy: 'skip' })
      .step('team', team)
      .step('beside', echo, { input: {} as never })
    const run = await host.start(outer)
    expect(Object.keys((await run.result()) as object)).toEqual(['beside'])
    expect(await states(host, run.id, team, 'team')).toMatchObject({ bad: 'failed', slow: 'cancelled' })
    await sameAgain(host, run.id)
  })

  it('is tried again as its policy says', async () => {
    const { host, clock } = await openStage()
    let tries = 0
    const flaky = defineNode('flaky', (_: AgentTask) => {
      tries += 1
      if (tries < 3) throw new Error('again')
      return tries
    })
    const team = agentGraph('team').agent('a', { bundle: flaky, policy: { attempts: 3, backoff: '1s' } })
    const run = await host.start(team)
    expect(await timePasses(clock, run.result())).toEqual({ a: 3 })
  })
})

describe('states', () => {
  it('go from pending and queued to running and an end', async () => {
    const { host } = await openStage()
    const open = new Map<string, PromiseWithResolvers<string>>()
    const slow = defineNode('slow', ({ agent }: AgentTask) => {
      const waiting = gate<string>()
      open.set(agent, waiting)
      return waiting.promise
    })
    const team = agentGraph('team', { maxParallel: 1, errorPolicy: 'skip' })
      .agent('a', { bundle: slow })
      .agent('b', { bundle: slow })
      .agent('c', { bundle: slow })
    team.after(['a', 'b']).run('c')
    expect(agentStates(team, [])).toMatchObject({ a: { state: 'queued' }, c: { state: 'pending' } })
    const run = await host.start(team)
    await until(() => open.has('a'))
    await quiet()
    expect(await states(host, run.id, team)).toEqual({ a: 'running', b: 'queued', c: 'pending' })
    open.get('a')?.resolve('done')
    await until(() => open.has('b'))
    await quiet()
    expect(await states(host, run.id, team)).toEqual({ a: 'completed', b: 'running', c: 'pending' })
    open.get('b')?.reject(new Error('broken'))
    expect(await run.result()).toEqual({ a: 'done' })
    const ended = agentStates(team, await host.journal(run.id))
    expect(ended).toMatchObject({
      a: { state: 'completed', turn: 1 },
      b: { state: 'failed', reason: 'broken' },
      c: { state: 'cancelled', reason: "Step 'b', which comes before it, failed." },
    })
    expect(ended['a']?.ended).toBeGreaterThanOrEqual(ended['a']?.started ?? Infinity)
    await sameAgain(host, run.id)
  })

  it('are the same for the journal of any moment, whoever looks', async () => {
    const { host } = await openStage()
    const team = agentGraph('team').agent('a', { bundle: echo }).agent('b', { bundle: echo })
    team.after('a').run('b')
    const run = await host.start(team)
    await run.result()
    const entries = await host.journal(run.id)
    const seen = entries.map((_, at) => agentStates(team, entries.slice(0, at + 1)))
    expect([...new Set(seen.map(({ a, b }) => `${a?.state} ${b?.state}`))]).toEqual([
      'queued pending',
      'running pending',
      'completed queued',
      'completed running',
      'completed completed',
    ])
  })

  it('are cancelled when the run is', async () => {
    const { host } = await openStage()
    const team = agentGraph('team').agent('a', { bundle: never }).agent('b', { bundle: echo })
    team.after('a').run('b')
    const run = await host.start(team)
    await quiet()
    await run.cancel()
    expect((await rejection(run.result())).code).toBe('cancelled')
    expect(await states(host, run.id, team)).toEqual({ a: 'cancelled', b: 'cancelled' })
  })
})

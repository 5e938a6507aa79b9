/** Agents as nodes, with an agent that needs no model. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { workflow, type Host } from 'nerve'
import { agent, scriptedAgent, type AgentNodeOptions, type ScriptedStep } from 'nerve/agents'
import { jsonSchema } from 'nerve/spec'
import { MemoryStore } from 'nerve/testing'
import { openStage, rejection, timePasses, until, type Stage } from '../behaviour/stage.ts'

let dir: string

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'nerve-agent-'))
  return () => rmSync(dir, { recursive: true, force: true })
})

/** What the agent does, by the first word of the prompt that it finds. */
type Script = Readonly<Record<string, readonly ScriptedStep[]>>

function scripted(script: Script) {
  return scriptedAgent({
    folder: join(dir, 'sessions'),
    script: ({ prompt, number, before }) => {
      const name = Object.keys(script).find((word) => prompt.includes(word))
      return name === undefined ? [{ say: `turn ${number} after [${before.join(', ')}]` }] : (script[name] ?? [])
    },
  })
}

function coder(script: Script, options: Partial<AgentNodeOptions<unknown>> = {}) {
  const node = agent('coder', { use: scripted(script), cwd: dir, permission: 'allow', ...options })
  onTestFinished(() => node.stop())
  return node
}

async function ask({ host }: Stage, value: unknown): Promise<Record<string, unknown>> {
  await until(async () => (await host.inbox()).length === 1, 'a question')
  const [question] = await host.inbox()
  await host.answer(question?.id ?? '', value)
  return question as unknown as Record<string, unknown>
}

const turn = (node: ReturnType<typeof coder>, ...prompts: string[]) =>
  workflow('turn', async (ctx) => {
    const texts: string[] = []
    for (const prompt of prompts) texts.push((await ctx.run(node, prompt)).text)
    return texts
  })

async function result(host: Host, node: ReturnType<typeof coder>, ...prompts: string[]): Promise<string[]> {
  return (await host.start(turn(node, ...prompts))).result()
}

describe('an agent', () => {
  it('takes its turns in one session, over steps and runs, and a replay takes none', async () => {
    const { host } = await openStage()
    const node = coder({})
    expect(await result(host, node, 'a', 'b')).toEqual(['turn 1 after []', 'turn 2 after [a]'])
    const run = await host.start(turn(node, 'c'))
    expect(await run.result()).toEqual(['turn 3 after [a, b]'])
    expect((await host.replay(run.id)).same).toBe(true)
    await node.stop()
    expect(await result(host, node, 'd')).toEqual(['turn 4 after [a, b, c]'])
    await node.reset()
    expect(await result(host, node, 'e')).toEqual(['turn 1 after []'])
  })

  it('says its session in the journal before the first prompt, and what happens to watchers', async () => {
    const { host } = await openStage()
    const heard: unknown[] = []
    host.subscribe({ live: true }, (part) => {
      const { type, data } = part as { type: string; data: unknown }
      heard.push(type === 'native' ? type : [type, data])
    })
    const node = coder({ work: [{ think: 'hm' }, { say: 'done' }, { shell: 'echo hi' }] })
    const run = await host.start(turn(node, 'work'))
    await run.result()
    const kept = (await host.journal(run.id)).find(({ event }) => event.type === 'step-kept')
    expect(kept?.event).toMatchObject({ value: { ref: { agent: 'scripted', cwd: dir, id: node.session?.id } } })
    expect(heard.filter((one) => one !== 'native')).toEqual([
      ['thinking-delta', 'hm'],
      ['text-delta', 'done'],
      ['tool-start', { id: '1-2', tool: 'shell', input: { command: 'echo hi' } }],
      ['permission', { id: '1-2', tool: 'shell', kind: 'shell', title: 'echo hi', allow: true }],
      ['tool-end', { id: '1-2', ok: true, output: 'hi\n' }],
      ['turn-end', { reason: 'done', text: 'done' }],
    ])
    expect(heard.filter((one) => one === 'native')).toHaveLength(3)
  })

  it('is paid for once, also when its turn fails', async () => {
    const { host } = await openStage()
    const node = coder({
      spend: [{ usage: { input: 10, output: 5, usd: 0.25, window: 0.4 } }, { usage: { output: 5 } }, { say: 'spent' }],
      break: [{ usage: { input: 7 } }, { fail: 'the model is down' }],
    })
    const run = await host.start(turn(node, 'spend'))
    await run.result()
    expect((await host.run(run.id)).usage).toMatchObject({ tokens: 20, usd: 0.25, window: 0.4 })
    const broken = await host.start(turn(node, 'break'))
    expect((await rejection(broken.result())).message).toContain("Agent 'coder' failed: the model is down")
    expect((await host.run(broken.id)).usage).toMatchObject({ tokens: 7 })
  })

  it('waits for its quota without losing an attempt', async () => {
    const stage = await openStage()
    let refused = 0
    const until9 = stage.clock.now() + 9 * 3_600_000
    const node = coder({})
    const adapter = scriptedAgent({
      folder: join(dir, 'sessions'),
      script: () => {
        refused += 1
        return refused === 1 ? [{ fail: 'too many', as: 'rate-limited', retryAt: until9 }] : [{ say: 'now' }]
      },
    })
    const limited = agent('limited', { use: adapter, cwd: dir })
    const run = await stage.host.start(turn(limited as typeof node, 'go'))
    expect(await timePasses(stage.clock, run.result())).toEqual(['now'])
    expect(stage.clock.now()).toBeGreaterThanOrEqual(until9)
    await limited.stop()
  })

  it('gives data that fits its schema, and is asked again when it does not', async () => {
    const { host } = await openStage()
    const schema = jsonSchema<{ n: number }>({ type: 'object', properties: { n: { type: 'number' } }, required: ['n'] })
    const node = coder(
      {
        'count it': [{ say: 'Here: ```json\n{"n": "two"}\n```' }],
        'not the data': [{ data: { n: 2 } }, { say: 'sorry' }],
        never: [{ say: 'no' }],
      },
      { schema, jsonSchema: { type: 'object' } },
    )
    const counted = await host.start(workflow('count', (ctx) => ctx.run(node, 'count it')))
    expect(await counted.result()).toMatchObject({ data: { n: 2 }, text: 'sorry' })
    const stubborn = coder({ '': [{ say: '{"n": []}' }] }, { schema, jsonSchema: { type: 'object' } })
    const never = await host.start(workflow('never', (ctx) => ctx.run(stubborn, 'go')))
    expect((await rejection(never.result())).message).toContain('did not give data that fits')
  })

  it.each(['park', 'hold'] as const)(
    'may want to do something when it is asked again for data (%s)',
    async (patience) => {
      const stage = await openStage()
      const data = jsonSchema<{ n: number }>({ type: 'object', properties: { n: { type: 'number' } }, required: ['n'] })
      const node = coder(
        { 'not the data': [{ shell: 'touch counted' }, { data: { n: 2 } }], count: [{ say: 'two' }] },
        { schema: data, jsonSchema: { type: 'object' }, permission: 'ask', patience },
      )
      const run = await stage.host.start(workflow('count', (ctx) => ctx.run(node, 'count it')))
      await ask(stage, 'allow')
      expect(await run.result()).toMatchObject({ data: { n: 2 } })
      expect(existsSync(join(dir, 'counted'))).toBe(true)
    },
  )

  it('hears no half of a character, as texts end in that were cut: some do not hear the message that it is in', async () => {
    const { host } = await openStage()
    expect(await result(host, coder({}), 'cut \ud83d', 'b')).toEqual(['turn 1 after []', 'turn 2 after [cut \ufffd]'])
  })

  it('is compacted when its window is full', async () => {
    const { host } = await openStage()
    const node = coder({ fill: [{ usage: { window: 0.7 } }, { say: 'full' }] })
    expect(await result(host, node, 'one', 'fill', 'next')).toEqual([
      'turn 1 after []',
      'full',
      'turn 2 after [(2 turns)]',
    ])
  })

  it('ends at once when it is stopped, and its session goes on', async () => {
    const { host } = await openStage()
    const node = coder({ sleep: [{ shell: 'touch began; sleep 86400' }] })
    const run = await host.start(turn(node, 'sleep'))
    await until(() => existsSync(join(dir, 'began')))
    await run.cancel()
    expect(await rejection(run.result())).toMatchObject({ code: 'cancelled' })
    expect(await result(host, node, 'again')).toEqual(['turn 2 after [sleep]'])
  })

  it('is copied with what it knows', async () => {
    const { host } = await openStage()
    const node = coder({})
    await result(host, node, 'a')
    const copy = node.fork('copy')
    expect(await result(host, copy, 'b')).toEqual(['turn 2 after [a]'])
    expect(await result(host, node, 'c')).toEqual(['turn 2 after [a]'])
    expect(copy.info()).toMatchObject({ forkedFrom: 'coder', session: { agent: 'scripted' } })
    expect(copy.session?.id).not.toBe(node.session?.id)
    await copy.stop()
  })

  it('is never in one session twice', async () => {
    const { host } = await openStage()
    const node = coder({})
    await result(host, node, 'a')
    const other = coder({}, { session: node.session as never })
    // Also a session that was not there before it was opened.
    expect(await rejection(other.start())).toMatchObject({
      code: 'not-ready',
      data: { holder: 'coder', pid: process.pid },
    })
    await node.stop()
    expect(await result(host, other, 'b')).toEqual(['turn 2 after [a]'])
    const third = coder({}, { session: node.session as never })
    expect((await rejection(third.start())).message).toContain('of this process has it open')
  })

  it.each([
    [{ use: '' }, /use must be the name of an agent/],
    [{ use: 'nobody' }, /there is no agent "nobody"/],
    [{ use: { contract: 2, name: 'x', open: () => undefined } }, /made for contract 2/],
    [{ use: 'x', patience: 'never' }, /give hold or park/],
    [{ use: 'x', compactAt: 2 }, /compactAt is 2/],
    [{ use: 'x', permision: 'ask' }, /Did you mean 'permission'/],
  ])('refuses %j', async (options, message) => {
    await expect(async () => agent('x', options as never).start()).rejects.toThrow(message)
  })
})

describe('a permission', () => {
  const script: Script = { tidy: [{ shell: 'rm notes' }, { write: 'notes', text: 'new' }, { say: 'tidy' }] }

  beforeEach(() => writeFileSync(join(dir, 'notes'), 'old'))

  it('is a question with the tool and its input; the process is away until the answer comes', async () => {
    const stage = await openStage()
    const node = coder(script, { permission: { allow: ['write'] } })
    const run = await stage.host.start(turn(node, 'tidy'))
    expect(await run.rest()).toBe('waiting')
    const question = await ask(stage, 'allow')
    expect(question).toMatchObject({
      kind: 'permission',
      prompt: 'May coder use shell? rm notes',
      choices: ['allow', 'deny'],
      detail: { tool: 'shell', kind: 'shell', input: { command: 'rm notes' } },
    })
    expect(await run.result()).toEqual(['tidy'])
    expect(readFileSync(join(dir, 'notes'), 'utf8')).toBe('new')
  })

  it.each(['hold', 'park'] as const)(
    'can be denied with a reason, and given for another input (%s)',
    async (patience) => {
      const stage = await openStage()
      const node = coder(script, { permission: 'ask', patience })
      const run = await stage.host.start(turn(node, 'tidy'))
      await ask(stage, { deny: 'it is needed' })
      await until(async () => (await stage.host.inbox())[0]?.prompt.includes('write') === true)
      await ask(stage, { allow: { path: 'other', text: 'edited' } })
      expect(await run.result()).toEqual([patience === 'hold' ? 'denied: it is needed\ntidy' : 'tidy'])
      expect(readFileSync(join(dir, 'notes'), 'utf8')).toBe('old')
      expect(readFileSync(join(dir, 'other'), 'utf8')).toBe('edited')
    },
  )

  it.each(['hold', 'park'] as const)(
    'is not given for another input by an agent that would do what it wanted (%s)',
    async (patience) => {
      const stage = await openStage()
      const adapter = scripted(script)
      const use = { ...adapter, name: 'stubborn', capabilities: { ...adapter.capabilities, editedInput: false } }
      const node = coder(script, { use, permission: { allow: ['write'] }, patience })
      const run = await stage.host.start(turn(node, 'tidy'))
      const refused = await rejection(ask(stage, { allow: { command: 'rm other' } }))
      expect(refused).toMatchObject({ code: 'answer-rejected' })
      expect(refused.message).toMatch(/stubborn cannot take another input.*allow, deny or \{"deny": "why"\}/)
      expect(await stage.host.inbox()).toHaveLength(1)
      expect(existsSync(join(dir, 'notes'))).toBe(true)
      await ask(stage, { deny: 'it is needed' })
      await run.result()
      expect(readFileSync(join(dir, 'notes'), 'utf8')).toBe('new')
    },
  )

  it('counts once for the same call when the session was used for something else meanwhile', async () => {
    const stage = await openStage()
    const again = [{ shell: 'rm notes' }, ...(script['tidy'] ?? [])]
    const node = coder({ other: [{ say: 'other' }], tidy: again }, { permission: { allow: ['write'] } })
    const run = await stage.host.start(turn(node, 'tidy'))
    await run.rest()
    expect(await result(stage.host, node, 'other')).toEqual(['other'])
    await ask(stage, 'allow')
    await ask(stage, { deny: 'it is gone' })
    expect(await run.result()).toEqual(['denied: it is gone\ntidy'])
    expect(readFileSync(join(dir, 'notes'), 'utf8')).toBe('new')
  })

  it('is told when it has to begin again', async () => {
    const stage = await openStage()
    const script = ({ prompt }: { prompt: string }) => [{ shell: 'true' }, { say: prompt }]
    const use = scriptedAgent({ folder: join(dir, 'sessions'), script })
    const node = coder({}, { use, permission: 'ask' })
    const run = await stage.host.start(turn(node, 'the task'))
    await run.rest()
    const other = await stage.host.start(turn(node, 'other'))
    await other.rest()
    for (const { id, run: of } of await stage.host.inbox())
      if (of === run.id) await stage.host.answer(id, { deny: 'not now' })
    expect((await run.result())[0]).toMatch(
      /wanted to use shell \(true\).*You may not: not now.*The task was:\n\nthe task/s,
    )
  })

  it('outlives its process', async () => {
    const store = new MemoryStore()
    const first = coder(script, { permission: 'ask' })
    const before = await openStage({ store, definitions: [turn(first, 'tidy')] })
    const run = await before.host.start(turn(first, 'tidy'))
    await run.rest()
    await before.host.close()
    const second = coder(script, { permission: 'ask' })
    const stage = await openStage({ store, definitions: [turn(second, 'tidy')] })
    await ask(stage, 'allow')
    await until(async () => (await stage.host.inbox())[0]?.prompt.includes('write') === true)
    await ask(stage, 'deny')
    expect(await (await stage.host.handle(run.id)).result()).toEqual(['denied: A person denied it.\ntidy'])
    expect(existsSync(join(dir, 'notes'))).toBe(false)
  })
})

it('goes on in its session after a crash, and is told so', async () => {
  const store = new MemoryStore()
  const told: string[] = []
  const adapter = scriptedAgent({
    folder: join(dir, 'sessions'),
    script: ({ prompt, number }) => {
      told.push(`${number} ${prompt}`)
      return number === 1 ? [{ shell: 'touch began; sleep 86400' }] : [{ say: 'went on' }]
    },
  })
  const make = () => agent('coder', { use: adapter, cwd: dir, permission: 'allow' }) as ReturnType<typeof coder>
  const first = make()
  const before = await openStage({ store, definitions: [turn(first, 'build it')] })
  const run = await before.host.start(turn(first, 'build it'))
  await until(() => existsSync(join(dir, 'began')))
  await before.host.close()
  await first.stop()
  const second = make()
  const { host } = await openStage({ store, definitions: [turn(second, 'build it')] })
  await host.recover()
  expect(await (await host.handle(run.id)).result()).toEqual(['went on'])
  expect(second.session?.id).toBe(first.session?.id)
  expect(told).toEqual([
    '1 build it',
    expect.stringMatching(/^2 You were interrupted in the middle of this task.*build it$/s),
  ])
  await second.stop()
})

it('goes on in its session when the process ends between two of its steps', async () => {
  const store = new MemoryStore()
  const flow = (node: ReturnType<typeof coder>) =>
    workflow('pair', async (ctx) => {
      const [first] = await ctx.map(['a'], (prompt) => ctx.run(node, prompt))
      await ctx.waitFor('go')
      return [first?.text, (await ctx.run(node, 'b')).text]
    })
  const one = coder({})
  const before = await openStage({ store, definitions: [flow(one)] })
  const run = await before.host.start(flow(one))
  await run.rest()
  await before.host.close()
  await one.stop()
  const two = coder({})
  const { host } = await openStage({ store, definitions: [flow(two)] })
  const again = await host.handle(run.id)
  await again.signal('go')
  expect(await again.result()).toEqual(['turn 1 after []', 'turn 2 after [a]'])
  expect(two.session?.id).toBe(one.session?.id)
  const fresh = coder({})
  const third = await openStage({ store, definitions: [flow(fresh)] })
  await third.host.replay(run.id)
  expect(fresh.session).toBeUndefined()
})

/** Runs that need nodes of a session which is not open: after kill -9 they are made again from what is recorded. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHost, defineNode, workflow, type Host, type HostOptions } from 'nerve'
import { graph } from 'nerve/graph'
import { createSessionManager } from 'nerve/sessions'
import { temporary } from './session-stage.ts'
import { rejection } from './stage.ts'

const WORKER = fileURLToPath(new URL('recall-worker.ts', import.meta.url))

/** A folder in which a process was killed while a node of its session was executed. */
async function leftBehind(what: 'send' | 'graph' | 'flow'): Promise<string> {
  const dir = temporary()
  const child = spawn(process.execPath, ['--conditions=nerve-source', '--no-warnings', WORKER, dir, what], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
  return dir
}

async function open(dir: string, options: HostOptions = {}): Promise<Host> {
  const host = await createHost({ dir, ...options })
  onTestFinished(() => host.close())
  return host
}

/** What the recorded node does from now on: something that ends. */
function mend(dir: string): void {
  const file = join(dir, '.nerve', 'sessions', 'main.json')
  writeFileSync(file, readFileSync(file, 'utf8').replace('exec sleep 1000', 'echo done'))
}

async function output(host: Host, definition: string): Promise<unknown> {
  const [row] = await host.runs({ definition })
  return (await host.handle(row?.run ?? '')).result()
}

describe('a host that takes up a run', () => {
  it('opens the session that something was sent to, by itself', async () => {
    const dir = await leftBehind('send')
    mend(dir)
    const host = await open(dir)
    expect(host.recovered).toMatchObject({ recovered: { length: 1 }, left: [] })
    expect(await output(host, 'main:send')).toMatchObject({ stdout: 'begun\ndone\n' })
    // Who wants the session itself gets the one that is open.
    const sessions = createSessionManager(host)
    const session = await sessions.restore('main')
    expect(session.ready()).toEqual(['hang'])
    const { entries } = await session.history('hang')
    expect(entries.at(-1)).toMatchObject({ operation: 'stream', output: { stdout: 'begun\ndone\n' } })
    expect(await rejection(sessions.restore('main'))).toMatchObject({ code: 'bad-option' })
  })

  it('does without the session, for a node that keeps nothing, when another process has it open', async () => {
    const dir = await leftBehind('send')
    mend(dir)
    const other = createSessionManager(await open(dir, { store: 'memory' }))
    const elsewhere = await other.open('main')
    onTestFinished(async () => void (await elsewhere.close()))
    expect(await output(await open(dir), 'main:send')).toMatchObject({ stdout: 'begun\ndone\n' })
  })

  it('makes the nodes that a graph refers to by name', async () => {
    const dir = await leftBehind('graph')
    mend(dir)
    const named = graph('named')
      .step('one', 'hang', {})
      .step('two', 'say', { after: ['one'], input: 'echo two' })
    const host = await open(dir, { definitions: [named] })
    expect(await output(host, 'named')).toMatchObject({ one: { exitCode: 0 }, two: { stdout: 'two\n' } })
  })

  it('starts a terminal again only when a step needs it', async () => {
    const dir = await leftBehind('flow')
    mend(dir)
    const flow = workflow('flow', async (ctx) => {
      await ctx.run('shell', 'cd /usr')
      await ctx.run('hang', undefined)
      return ctx.run('shell', 'pwd')
    })
    const host = await open(dir, { definitions: [flow] })
    // The first step is done and does not run again: it is a new shell, in the folder of this process.
    expect(await output(host, 'flow')).toMatchObject({ output: `${process.cwd()}\n`, exitCode: 0 })
  })

  it('leaves the run, and says everything that is missing', async () => {
    const dir = await leftBehind('send')
    const file = join(dir, '.nerve', 'sessions', 'main.json')
    const record = JSON.parse(readFileSync(file, 'utf8')) as { members: Record<string, unknown>[] }
    Object.assign(record.members[0] ?? {}, { omitted: ['env.TOKEN'] })
    record.members.push({ name: 'talk', type: 'node', kind: 'function', persistent: true })
    writeFileSync(file, JSON.stringify(record))
    const host = await open(dir)
    expect(host.recovered.left).toMatchObject([
      {
        reason: expect.stringMatching(
          /Session 'main' cannot be restored: 'hang' needs env\.TOKEN.* 'talk' \(function\) is made by code/su,
        ),
      },
    ])
    // So does whatever would refer to it.
    const step = graph('later').step('one', 'talk', {})
    expect(await rejection(host.start(step))).toMatchObject({ code: 'not-ready' })
    expect(await host.runs({ definition: 'later' })).toEqual([])
  })
})

describe('a host that was told of sessions', () => {
  it('opens one when a run first needs it, and closes it', async () => {
    const dir = temporary()
    const log: string[] = []
    const node = (id: string) =>
      defineNode(id, (text: string) => `${id}: ${text}`, {
        persistent: true,
        start: () => void log.push(`start ${id}`),
        stop: () => void log.push(`stop ${id}`),
      })
    const nodes = [node('a'), node('b'), { kind: 'identity', id: 'same' }]
    const host = await createHost({ dir, sessions: [{ name: 'main', tags: ['t'], nodes }] })
    // What keeps nothing needs no session.
    const first = await host.start(graph('first').step('one', 'same', { input: 1 }))
    expect(await first.result()).toEqual({ one: 1 })
    expect(createSessionManager(host).get('main')).toBeUndefined()
    const run = await host.start(graph('flow').step('one', 'b', { input: 'x' }))
    expect(await run.result()).toEqual({ one: 'b: x' })
    expect(log).toEqual(['start b'])
    expect(await createSessionManager(host).list()).toMatchObject([{ name: 'main', tags: ['t'], members: 3 }])
    await host.close()
    expect(log).toEqual(['start b', 'stop b'])
  })

  it('shares a session with a program that restores it while a run needs it', async () => {
    const dir = temporary()
    const talk = defineNode('talk', (text: string) => text, { persistent: true })
    const before = await open(dir, { store: 'memory' })
    await (await createSessionManager(before).create({ name: 'main', nodes: [talk] })).close()
    const host = await open(dir, { store: 'memory', sessions: [{ name: 'main', nodes: [talk] }] })
    const sessions = createSessionManager(host)
    const run = await host.start(graph('flow').step('one', 'talk', { input: 'x' }))
    const restored = await sessions.restore('main', { nodes: [talk] })
    expect(await run.result()).toEqual({ one: 'x' })
    expect(sessions.get('main')).toBe(restored)
    expect((await restored.history('talk')).entries.at(-1)).toMatchObject({ operation: 'send', output: 'x' })
  })

  it('closes what it was still opening', async () => {
    const dir = temporary()
    const talk = defineNode('talk', (text: string) => text, { persistent: true })
    const host = await createHost({ dir, store: 'memory', sessions: [{ name: 'main', nodes: [talk] }] })
    await host.start(graph('flow').step('one', 'talk', { input: 'x' }))
    const opening = createSessionManager(host).open('main')
    await host.close()
    expect((await opening).closed).toBe(true)
    expect(host.registry.names.get('talk')).toBeUndefined()
  })

  it('waits for a session that another process has open, unless the node keeps nothing', async () => {
    const dir = temporary()
    const talk = (id: string) => defineNode(id, (text: string) => text, { persistent: true })
    const first = await open(dir, { store: 'memory' })
    const nodes = () => [talk('talk'), { kind: 'identity', id: 'same' }]
    const there = await createSessionManager(first).create({ name: 'main', nodes: nodes() })
    const host = await open(dir, { store: 'memory', sessions: [{ name: 'main', nodes: nodes() }] })
    const other = graph('other').step('one', 'same', { input: 'at once' })
    expect(await (await host.start(other)).result()).toEqual({ one: 'at once' })
    const run = await host.start(graph('flow').step('one', 'talk', { input: 'x' }))
    const paused = run.events()[Symbol.asyncIterator]()
    for (;;) {
      const { value } = await paused.next()
      if (value?.type !== 'step-stopped') continue
      expect(value).toMatchObject({ reason: 'quota', error: { message: expect.stringContaining('open already') } })
      break
    }
    await there.close()
    expect(await run.result()).toEqual({ one: 'x' })
  })
})

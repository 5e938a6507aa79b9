/** A session with real shells in it: what it adds to a terminal and to commands. */
import { realpathSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { graph } from 'nerve/graph'
import { terminal, type TerminalNode, type TerminalResult } from 'nerve/terminal'
import { openSession, temporary } from './session-stage.ts'
import { sleepTag, sleepers } from './shell-stage.ts'
import { openStage, rejection, until } from './stage.ts'

const shellConfig = (cwd: string) => ({ kind: 'terminal', id: 'sh', command: 'bash', cwd })

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const pidOf = (node: unknown): number => (node as TerminalNode).info().pid ?? 0

describe('a session with terminals', () => {
  it('starts, uses, forks and ends them, with a history of all of it', async () => {
    const dir = realpathSync(temporary())
    const { host } = await openStage({ dir })
    const session = await openSession(host, { nodes: [shellConfig(dir)] })
    const sh = session.node('sh')
    const pids = [pidOf(sh.node)]
    expect(isAlive(pids[0] ?? 0)).toBe(true)
    expect(await session.send<TerminalResult>('sh', 'cd / && GREETING=hi && echo $GREETING')).toMatchObject({
      exitCode: 0,
    })
    expect((await session.send<TerminalResult>('sh', 'echo "$GREETING from $PWD"')).output).toContain('hi from /')
    const copy = session.node(await session.fork('sh'))
    pids.push(pidOf(copy.node))
    expect((await session.send<TerminalResult>(copy.id, 'echo "$GREETING from $PWD"')).output).toContain(` from ${dir}`)
    await sh.use('write', 'echo typed\r')
    let read = ''
    await until(async () => {
      read += String(await sh.use('read'))
      return /\ntyped/u.test(read)
    }, 'what was typed')
    const { entries } = await session.history('sh', { inputsOnly: true })
    expect(entries.map(({ operation, input }) => [operation, input])).toEqual([
      ['send', 'cd / && GREETING=hi && echo $GREETING'],
      ['send', 'echo "$GREETING from $PWD"'],
      ['write', 'echo typed\r'],
    ])
    const [stream] = (await session.history('sh', { operation: 'stream' })).entries
    expect(stream).toMatchObject({ of: 1, output: { exitCode: 0 }, buffer: expect.stringContaining('hi') })
    await session.close()
    expect(new Set(pids).size).toBe(2)
    for (const pid of pids) expect(isAlive(pid)).toBe(false)
    expect(sh.state).toBe('stopped')
  })

  it('interrupts what one executes for a graph that holds the terminal itself, and goes on', async () => {
    const { host } = await openStage()
    const tag = sleepTag()
    const raw = terminal('sh', { command: 'bash', cwd: temporary() })
    const flow = graph('flow').step('wait', raw, { input: `sleep ${tag}` })
    const session = await openSession(host, { nodes: [flow] })
    const sh = session.node('sh')
    const busy = new Promise<void>((resolve) => {
      sh.onState(({ to }) => to === 'busy' && resolve())
    })
    const run = await host.start(flow)
    await busy
    // A shell that is just starting a program can miss Ctrl-C, so the program has to be there.
    await until(() => sleepers(tag).length === 1, 'the command')
    await sh.interrupt()
    expect((await run.result()).wait).toMatchObject({ exitCode: 130 })
    expect(sh.state).toBe('ready')
    await sh.reset()
    expect((await session.send<TerminalResult>('sh', 'echo again')).output).toContain('again')
    await sh.stop()
    expect((await rejection(session.send('sh', 'echo no'))).cause).toMatchObject({ code: 'not-ready' })
  })
})

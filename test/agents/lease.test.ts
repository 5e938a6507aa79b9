/** One session, two processes: never both at once. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { agent, scriptedAgent, type SessionRef } from 'nerve/agents'
import { rejection } from '../behaviour/stage.ts'
import { forgetSession, untilNone } from './killed.ts'
import { ROOT } from './under-test.ts'

let cwd: string

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'nerve-lease-'))
  return () => rmSync(cwd, { recursive: true, force: true })
})

/** Another process that works in a session, and the session. */
async function working(
  session?: SessionRef,
  env: NodeJS.ProcessEnv = process.env,
): Promise<{ child: ChildProcess; session: SessionRef }> {
  const job = JSON.stringify({ cwd, session })
  const worker = join(ROOT, 'test', 'agents', 'lease-worker.ts')
  const child = spawn(process.execPath, ['--conditions=nerve-source', worker, job], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env,
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  for await (const line of createInterface({ input: child.stdout }))
    return { child, session: JSON.parse(line) as SessionRef }
  throw new Error('The other process has said nothing.')
}

function here(session: SessionRef) {
  const use = scriptedAgent({ folder: join(cwd, 'sessions'), script: () => [] })
  const node = agent('here', { use, cwd, session })
  onTestFinished(() => node.stop())
  return node
}

async function killed({ child, session }: Awaited<ReturnType<typeof working>>): Promise<void> {
  child.kill('SIGKILL')
  await once(child, 'exit')
  onTestFinished(() => forgetSession(session))
}

describe('a session that another process works in', () => {
  it('is refused, and it is said who has it and what to do', async () => {
    const other = await working()
    const { id } = other.session
    const refused = await rejection(here(other.session).start())
    expect(refused).toMatchObject({ code: 'not-ready', data: { session: id, holder: 'worker', pid: other.child.pid } })
    expect(refused.message).toContain(
      `node 'worker' of process ${other.child.pid} has it open. Stop that one, or go on in`,
    )
    await killed(other)
    await untilNone(cwd)
  })

  it.each(['XDG_STATE_HOME', 'HOME'])('is refused also where %s is another', async (name) => {
    const other = await working(undefined, { ...process.env, [name]: join(cwd, 'elsewhere') })
    expect(await rejection(here(other.session).start())).toMatchObject({
      code: 'not-ready',
      data: { holder: 'worker' },
    })
    await killed(other)
    await untilNone(cwd)
  })

  it('is free as soon as that process is killed, and what it left running is ended first', async () => {
    const other = await working()
    // Its guard would end it too, a moment later: here nobody does.
    other.child.kill('SIGSTOP')
    for (const pid of guardsOf(other.child.pid ?? -1)) process.kill(pid, 'SIGKILL')
    await killed(other)
    await expect(untilNone(cwd, 3)).rejects.toThrow('Still running')
    const node = here(other.session)
    await node.start()
    await untilNone(cwd, 0)
    await node.stop()
    const third = await working(other.session)
    expect(third.session).toEqual(other.session)
    await killed(third)
    await untilNone(cwd)
  })

  it('is got by one of several that want it at the same moment', async () => {
    const other = await working()
    await killed(other)
    const results = await Promise.allSettled(Array.from({ length: 4 }, () => here(other.session).start()))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })
})

function guardsOf(host: number): readonly number[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .filter((pid) => {
      try {
        const parent = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1]
        return Number(parent) === host && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('nerve-guard')
      } catch {
        return false
      }
    })
    .map(Number)
}

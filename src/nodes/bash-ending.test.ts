/** Nothing that a command started outlives it, in whatever way it ends and wherever its processes went. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NerveError, createHost, workflow } from 'nerve'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventually, fakeCall, forest, said, sleepTag, sleepers } from '../../test/behaviour/shell-stage.ts'
import { bash, type BashResult } from './bash.ts'
import { PIPES_AT_ONCE } from './process-pipes.ts'
import { parseStat } from './process-table.ts'

const WORKER = fileURLToPath(new URL('../../test/behaviour/bash-host-worker.ts', import.meta.url))

describe('a command that is stopped', () => {
  it('ends with everything it started, wherever that went', async () => {
    const tag = sleepTag()
    const { command, size } = forest(tag)
    const stop = new AbortController()
    const call = fakeCall(stop.signal)
    const ended = Promise.resolve(bash('forest', { grace: '300ms' }).execute(command, call))
    await eventually(() => sleepers(tag).length === size, 'all of them sleep')
    const reason = new NerveError('cancelled', 'No more.')
    stop.abort(reason)
    await expect(ended).rejects.toMatchObject({ code: 'cancelled', message: 'No more.', data: { stdout: 'ready\n' } })
    expect(sleepers(tag)).toEqual([])
  })

  it('ends at its timeout, and the error has what it said', async () => {
    const tag = sleepTag()
    const node = bash('slow', { timeout: '2s', command: `echo begun; sleep ${tag}` })
    await expect(node.execute(undefined, fakeCall())).rejects.toMatchObject({
      code: 'timeout',
      retry: 'later',
      data: { reason: 'timeout', stdout: 'begun\n', signal: 'SIGTERM' },
    })
    expect(sleepers(tag)).toEqual([])
  })

  it('gets a chance to clean up', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'nerve-bash-ending-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const stop = new AbortController()
    const call = fakeCall(stop.signal)
    const command = `trap 'echo cleaned > done; exit' TERM; echo ready; while :; do sleep 0.05; done`
    const ended = Promise.resolve(bash('tidy', { cwd: folder }).execute(command, call))
    await eventually(() => said(call, 'stdout') !== '', 'it has begun')
    stop.abort(new Error('enough'))
    await expect(ended).rejects.toThrow('enough')
    expect(readFileSync(join(folder, 'done'), 'utf8')).toBe('cleaned\n')
  })

  it('is ended by an interrupt of its node, and only of this one', async () => {
    const [one, two] = [sleepTag(), sleepTag()]
    const node = bash('long')
    const copy = node.fork?.('copy')
    const stop = new AbortController()
    const ended = Promise.resolve(node.execute(`sleep ${one}`, fakeCall()))
    const other = Promise.resolve(copy?.execute(`sleep ${two}`, fakeCall(stop.signal)))
    await eventually(() => sleepers(one).length + sleepers(two).length === 2, 'both sleep')
    await node.interrupt?.()
    await expect(ended).rejects.toMatchObject({ code: 'interrupted' })
    expect([sleepers(one).length, sleepers(two).length]).toEqual([0, 1])
    stop.abort(new Error('enough'))
    await expect(other).rejects.toThrow('enough')
  })

  it('does not start when it is stopped already', async () => {
    const call = fakeCall(AbortSignal.abort(new Error('before')))
    await expect(bash('never').execute('echo started', call)).rejects.toThrow('before')
    expect(said(call, 'stdout')).toBe('')
  })

  it('ends when its run is cancelled', async () => {
    const tag = sleepTag()
    const host = await createHost({ store: 'memory' })
    onTestFinished(() => host.close())
    const run = await host.start(workflow('long', (ctx) => ctx.run(bash('long'), `setsid sleep ${tag}`)))
    await eventually(() => sleepers(tag).length === 1, 'it sleeps')
    await run.cancel()
    await expect(run.result()).rejects.toMatchObject({ code: 'cancelled' })
    await eventually(() => sleepers(tag).length === 0, 'it has ended')
  })
})

describe('what a command leaves running', () => {
  it('ends with it, also when it holds the pipe open', async () => {
    const tag = sleepTag()
    const result = await bash('left').execute(
      `sleep ${tag} & setsid sleep ${tag} >/dev/null 2>&1 & echo done`,
      fakeCall(),
    )
    expect(result).toMatchObject({ stdout: 'done\n', exitCode: 0 })
    expect(sleepers(tag)).toEqual([])
  })

  it('stays when it may, and holds nobody up', async () => {
    const tag = sleepTag()
    const node = bash('server', { background: 'keep', command: `sleep ${tag} & echo done` })
    expect(await node.execute(undefined, fakeCall())).toMatchObject({ stdout: 'done\n', exitCode: 0 })
    expect(sleepers(tag)).toHaveLength(1)
  })
})

describe('when the host is killed', () => {
  it('nothing of its commands goes on', async () => {
    const tag = sleepTag()
    const { command, size } = forest(tag)
    const host = spawn(process.execPath, ['--conditions=nerve-source', WORKER, command], {
      stdio: ['ignore', 'pipe', 2],
    })
    onTestFinished(() => void host.kill('SIGKILL'))
    await eventually(() => sleepers(tag).length === size, 'all of them sleep')
    host.kill('SIGKILL')
    await eventually(() => sleepers(tag).length === 0, 'all of them have ended')
    expect(sleepers(tag)).toEqual([])
  })
})

describe('much and hostile output', () => {
  it('needs no memory of its size', async () => {
    const call = fakeCall()
    let live = 0
    let most = 0
    const before = process.memoryUsage().rss
    const emit = (_type: string, text: unknown): void => {
      live += String(text).length
      most = Math.max(most, process.memoryUsage.rss() - before)
    }
    const command = `head -c 100000000 /dev/zero | tr '\\0' x`
    const result = await bash('flood', { maxOutput: 65_536 }).execute(command, { ...call, emit })
    const file = result.spill?.stdout ?? ''
    onTestFinished(() => rmSync(dirname(file), { recursive: true, force: true }))
    expect({ live, kept: result.stdout.length, spilled: statSync(file).size }).toEqual({
      live: 100_000_000,
      kept: 65_536,
      spilled: 100_000_000,
    })
    expect(most).toBeLessThan(100_000_000)
  })

  it('keeps binary output as it was', async () => {
    const result = await bash('binary').execute(`printf '\\377\\000\\376ok'`, fakeCall())
    onTestFinished(() => rmSync(dirname(result.spill?.stdout ?? ''), { recursive: true, force: true }))
    expect(result.stdout).toBe('\uFFFD\0\uFFFDok')
    expect(readFileSync(result.spill?.stdout ?? '')).toEqual(Buffer.from([0xff, 0, 0xfe, 0x6f, 0x6b]))
  })

  it('cannot fill the disk, and a command that never ends is ended', async () => {
    const node = bash('yes', { maxOutput: 100, maxSpill: 10_000, timeout: '500ms', command: 'yes' })
    const error = await Promise.resolve(node.execute(undefined, fakeCall())).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'timeout', data: { truncated: true } })
    const { spill } = (error as NerveError).data as { spill: { stdout: string } }
    onTestFinished(() => rmSync(dirname(spill.stdout), { recursive: true, force: true }))
    expect(statSync(spill.stdout).size).toBe(10_000)
  })

  it('says so when the output cannot be kept', async () => {
    const spillDir = mkdtempSync(join(tmpdir(), 'nerve-bash-full-'))
    onTestFinished(() => rmSync(spillDir, { recursive: true, force: true }))
    const call = fakeCall()
    const node = bash('full', { spillDir, maxOutput: 10, timeout: '20s' })
    // The folder is taken away before there is more than fits.
    const command = `rmdir '${spillDir}'; while :; do echo 0123456789; sleep 0.05; done`
    await expect(node.execute(command, call)).rejects.toMatchObject({
      code: 'command-failed',
      data: { reason: 'output' },
    })
  })

  it('survives a folder that vanishes below it', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'nerve-bash-vanish-'))
    const gone = await bash('vanish', { cwd }).execute('rm -r "$PWD"; echo still here', fakeCall())
    expect(gone.stdout).toBe('still here\n')
    await expect(bash('vanished', { cwd }).execute('true', fakeCall())).rejects.toMatchObject({
      data: { reason: 'cwd' },
    })
  })
})

describe('many commands at once', () => {
  it('leave no descriptor, no zombie and no process', async () => {
    const tag = sleepTag()
    const node = bash('many', {
      command: (index: number) => `sleep ${tag} & echo ${index}; exit $((${index} % 2))`,
      check: false,
    })
    await node.execute(0, fakeCall())
    const before = descriptors()
    const run = async (_: unknown, index: number): Promise<BashResult> => node.execute(index, fakeCall())
    const results = await Promise.all(Array.from({ length: 50 }, run))
    expect(results.map(({ stdout, exitCode }) => `${stdout.trim()} ${exitCode}`)).toEqual(
      Array.from({ length: 50 }, (_, index) => `${index} ${index % 2}`),
    )
    const missing = bash('missing', { shell: 'no-such-shell', command: 'true', stdin: 'x' })
    const fail = async (): Promise<BashResult> => missing.execute(undefined, fakeCall())
    const failed = await Promise.allSettled(Array.from({ length: 20 }, fail))
    expect(failed.filter(({ status }) => status === 'rejected')).toHaveLength(20)
    // A few pipes may wait for the next commands; seventy commands would have left far more.
    await eventually(() => descriptors() <= before + 2 * PIPES_AT_ONCE, 'descriptors are closed', 5_000)
    expect(zombies()).toEqual([])
    expect(sleepers(tag)).toEqual([])
  })
})

function descriptors(): number {
  return readdirSync('/proc/self/fd').length
}

/** The children of this process that have ended and were not waited for. */
function zombies(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
        const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
        return parent === process.pid && parseStat(Number(name), stat) === undefined
      } catch {
        return false
      }
    })
}

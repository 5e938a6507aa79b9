/** The small shell around a program that keeps its last output from being lost (needed before Node 24, tried on every Node). */
import { readFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { endedWith, needsHandshake } from '../../src/nodes/terminal/exit-handshake.ts'
import { TerminalKeeper } from '../../src/nodes/terminal/terminal-keeper.ts'
import { planTerminal, type TerminalOptions } from '../../src/nodes/terminal/terminal-options.ts'
import type { TerminalResult } from '../../src/nodes/terminal/terminal-result.ts'
import { alive } from './open.ts'

function wrapped(options: TerminalOptions) {
  const keeper = new TerminalKeeper('wrapped', { ...planTerminal('wrapped', options), handshake: true })
  onTestFinished(() => keeper.stop())
  const execute = (line: string, signal?: AbortSignal): Promise<TerminalResult> =>
    keeper.execute({ line, timeoutMs: 15_000 }, { signal, onText: () => undefined, onWait: () => undefined })
  return { keeper, execute }
}

describe('the exit handshake', () => {
  it('is for Node before 24', () => {
    expect(['20.1.0', '22.19.0', '24.0.0', '26.1.0'].map(needsHandshake)).toEqual([true, true, false, false])
  })

  it('is known by its nonce', () => {
    expect(endedWith('7777;nerve-exit;3;n=ab', 'ab')).toBe(3)
    expect(endedWith('7777;nerve-exit;3;n=ab', 'ac')).toBeUndefined()
    expect(endedWith('7777;other', 'ab')).toBeUndefined()
  })

  it('loses nothing and keeps the exit code', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { keeper, execute } = wrapped({ command: 'bash', args: ['-c', 'read -r go; seq 1 3000; echo END; exit 7'] })
      const { output, rule, exitCode } = await execute('go')
      expect({ rule, exitCode }).toEqual({ rule: 'exit', exitCode: 7 })
      expect(output.endsWith('2999\n3000\nEND\n')).toBe(true)
      expect(output.split('\n')).toHaveLength(3_002)
      await keeper.stop()
    }
  })

  it('changes nothing for a shell', async () => {
    const { keeper, execute } = wrapped({ command: 'bash' })
    expect(await execute('echo hi')).toMatchObject({ output: 'hi\n', exitCode: 0, rule: 'marks' })
    expect(await execute('read -p "name? " name')).toMatchObject({ output: 'name? ', rule: 'kernel' })
    await execute('bob')
    expect(await execute('seq 3 | (read x </dev/tty; cat)')).toMatchObject({ rule: 'kernel' })
    expect(await execute('')).toMatchObject({ exitCode: 0, rule: 'marks' })
    const stop = new AbortController()
    const stubborn = execute(`bash -c 'trap "" INT; echo up; sleep 30; sleep 30'`, stop.signal)
    await expect.poll(() => keeper.readTail(1)).toBe('up')
    stop.abort(new Error('enough'))
    await expect(stubborn).rejects.toThrow('enough')
    expect(await execute('echo $name')).toMatchObject({ output: 'bob\n', exitCode: 0 })
    expect(await execute('exit 5')).toMatchObject({ rule: 'exit', exitCode: 5 })
  })

  it('survives Ctrl-C for the program, and a terminal that was left raw', async () => {
    const { keeper, execute } = wrapped({
      command: 'bash',
      args: ['-c', 'echo up; stty raw; exec sleep 30'],
      startTimeout: 500,
    })
    await keeper.start()
    const { pid } = keeper.facts()
    const ended = execute('')
    await expect.poll(() => keeper.readTail(1)).toBe('up')
    // Raw: Ctrl-C is a byte like others, so the signal is sent.
    await expect.poll(() => signalSleep(pid!)).toBe(true)
    expect(await ended).toMatchObject({ rule: 'exit', exitCode: 130 })
    await keeper.stop()
    expect(alive(pid!)).toBe(false)
  })
})

/** Interrupts the child of the small shell, once it is the one that sleeps. */
function signalSleep(parent: number): boolean {
  const [child] = readFileSync(`/proc/${parent}/task/${parent}/children`, 'latin1').split(' ')
  if (readFileSync(`/proc/${child}/comm`, 'latin1').trim() !== 'sleep') return false
  process.kill(Number(child), 'SIGINT')
  return true
}

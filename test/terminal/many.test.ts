/** Many terminals: at once, and one after the other. What they held is given back. */
import { readFileSync, readdirSync } from 'node:fs'
import { terminal } from 'nerve/terminal'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { alive, children, open, openDescriptors } from './open.ts'

interface Held {
  readonly descriptors: number
  /** Zombies too. */
  readonly children: number
}

const held = (): Held => ({ descriptors: openDescriptors(), children: children().length })

/** Processes that a terminal of this file started, wherever they are now. */
function marked(): number[] {
  const name = Buffer.from(`NERVE_MANY=${process.pid}\0`)
  return readdirSync('/proc')
    .filter((one) => /^\d+$/.test(one))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`).includes(name)
      } catch {
        return false
      }
    })
    .map(Number)
}

const env = { NERVE_MANY: String(process.pid) }

// What all share is started by the first: the native module, and the guard.
beforeAll(async () => {
  const first = terminal('first', { command: 'bash' })
  await first.execute('true')
  await first.stop()
})

describe('two hundred terminals', () => {
  it('work at once, and leave no descriptor, zombie or process', { timeout: 120_000 }, async () => {
    const before = held()
    const shells = Array.from({ length: 200 }, () => open({ scrollback: 50, env, timeout: '90s', startTimeout: '90s' }))
    const results = await Promise.all(shells.map((shell, at) => shell.execute(`echo number ${at}`)))
    expect(results.map(({ output }) => output)).toEqual(shells.map((_, at) => `number ${at}\n`))
    const pids = shells.map((shell) => shell.info().pid!)
    expect(new Set(pids).size).toBe(200)
    expect(pids.filter(alive)).toEqual(pids)
    // Each still knows only its own.
    expect((await shells[150]!.screen()).rows.some((row) => row === 'number 150')).toBe(true)
    await Promise.all(shells.map((shell) => shell.stop()))
    expect(pids.filter(alive)).toEqual([])
    expect(marked()).toEqual([])
    expect(held()).toEqual(before)
  })
})

describe('a thousand starts', () => {
  it('leave no descriptor, zombie or process, however the program ends', { timeout: 120_000 }, async () => {
    const before = held()
    const options = { env, screen: false, timeout: '60s', startTimeout: '60s' }
    const one = async (number: number): Promise<void> => {
      const used = number % 4 === 3
      const shell = terminal(`many-${number}`, { ...options, command: used ? 'bash' : 'true' })
      onTestFinished(() => shell.stop())
      // Most end by themselves at once, some leave work behind, some are stopped in the middle of it.
      if (!used) await expect(shell.start()).rejects.toMatchObject({ code: 'terminal-ended' })
      else if (number % 8 === 3) expect((await shell.execute('sleep 1000 & exit 3')).exitCode).toBe(3)
      else expect((await shell.execute('setsid sleep 1000 & echo on')).exitCode).toBe(0)
      await shell.stop()
    }
    for (let round = 0; round < 10; round += 1)
      await Promise.all(Array.from({ length: 100 }, (_, at) => one(round * 100 + at)))
    expect(marked()).toEqual([])
    expect(held()).toEqual(before)
  })
})

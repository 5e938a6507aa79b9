import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { expect, it, vi } from 'vitest'
import { MemoryStore } from '../stores/memory-store.ts'
import { SimulatedClock } from '../testing/simulated-clock.ts'
import { Ownership, isAlive } from './ownership.ts'

const TELLS = existsSync('/proc/self/stat')

it.skipIf(!TELLS)(
  'a process that was killed and that nobody took note of is dead (skipped where there is no /proc)',
  async () => {
    const store = new MemoryStore()
    const clock = new SimulatedClock()
    const owner = new Ownership('here', store, clock)
    await owner.announce()
    const [record] = await store.hosts()
    if (record === undefined) throw new Error('the host is not known')
    expect(isAlive(record, clock.now())).toBe(true)
    // The shell becomes a sleep that never asks after its child.
    const parent = spawn('sh', ['-c', 'sh -c "echo \\$\\$; exec sleep 60" & exec sleep 60'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    try {
      const [line] = (await once(parent.stdout, 'data')) as [Buffer]
      const pid = Number(line.toString())
      const child = { ...record, pid, birth: '' }
      expect(isAlive(child, clock.now())).toBe(true)
      process.kill(pid, 'SIGKILL')
      while (!/\) Z /u.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) await new Promise(setImmediate)
      expect(isAlive(child, clock.now())).toBe(false)
    } finally {
      parent.kill('SIGKILL')
      await owner.close()
    }
  },
)

it('a process of another container is not looked for among those of this one', async () => {
  const fs = process.getBuiltinModule('node:fs')
  const space = vi.spyOn(fs, 'readlinkSync')
  const { hostname } = process.getBuiltinModule('node:os')
  const store = new MemoryStore()
  const clock = new SimulatedClock()
  /** The record of a host whose process lives in this space. */
  const recordIn = async (link: string | Error) => {
    space.mockImplementation(() => {
      if (typeof link === 'string') return link
      throw link
    })
    vi.resetModules()
    const fresh = await import('./ownership.ts')
    const owner = new fresh.Ownership('x', store, clock)
    await owner.announce()
    const [record] = await store.hosts()
    await owner.close()
    if (record === undefined) throw new Error('the host is not known')
    return { record, isAlive: fresh.isAlive }
  }
  try {
    const here = await recordIn('pid:[4026532000]')
    const there = await recordIn('pid:[4026532001]')
    const gone = { ...here.record, pid: 2 ** 22 + 1 }
    expect(here.isAlive(gone, clock.now())).toBe(false)
    expect(there.isAlive(gone, clock.now() + 29_999)).toBe(true)
    expect(there.isAlive(gone, clock.now() + 30_000)).toBe(false)
    // As it was before there was a difference, and as it is where nothing tells.
    const first = await recordIn('pid:[4026531836]')
    const unknown = await recordIn(new Error('no such file'))
    expect(first.record.machine).toMatch(new RegExp(`^${hostname()}/[^/]*$`, 'u'))
    expect(unknown.record.machine).toBe(first.record.machine)
    expect(first.isAlive({ ...first.record, pid: gone.pid }, clock.now())).toBe(false)
  } finally {
    space.mockRestore()
    vi.resetModules()
  }
})

const MINUTE = 60_000

it('hosts that slept with their machine are not taken for dead when one of them wakes before the others', async () => {
  const store = new MemoryStore()
  const clock = new SimulatedClock()
  const [here, there] = [new Ownership('here', store, clock), new Ownership('there', store, clock)]
  let passed = 0
  const awake = vi.spyOn(performance, 'now').mockImplementation(() => passed)
  try {
    await there.announce()
    await here.living()
    const look = async (seconds: number): Promise<boolean> => {
      passed += seconds * 1_000
      return (await here.living()).has('there')
    }
    clock.advance(20 * MINUTE)
    expect(await look(0)).toBe(true)
    expect(await look(4)).toBe(true)
    expect(await look(4)).toBe(true)
    // Whoever wakes has given a sign of life by now. Silence of so long is not sleep.
    expect(await look(6)).toBe(false)
    expect(await new Ownership('new', store, clock).living()).not.toContain('there')
  } finally {
    awake.mockRestore()
    await there.close()
  }
})

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

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
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

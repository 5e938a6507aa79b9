// 100,000 runs that wait for a person: what they cost in memory, while their host lives and when a new one opens the store.
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Handle, Host } from 'nerve'
import type { MemoryAdded, Setup } from '../harness/contract.ts'
import { expectEqual, now, settleMemory } from '../harness/measure.ts'
import { createHost, workflow } from './nerve-entry.ts'

/**
 * Runs that are parked, answered and finished before the measurement. They bring the heap to the size that starting so many
 * runs needs (V8 keeps the pages), so that what is added afterwards is added by runs that stay parked.
 */
const FINISHED_BEFORE = 20_000
const AT_ONCE = 200

export const parking = workflow('park', async (ctx, input: { i: number }) => {
  const doubled = await ctx.step('prepare', () => input.i * 2)
  const answer = await ctx.ask('ok?', { choices: ['yes', 'no'] })
  return { doubled, answer }
})

/** Starts runs, lets every one reach its question, and hands it to `then`. Keeps no handle. */
async function parkRuns(host: Host, count: number, then?: (handle: Handle) => Promise<unknown>): Promise<void> {
  for (let done = 0; done < count; done += AT_ONCE) {
    const batch = Array.from({ length: Math.min(AT_ONCE, count - done) }, async (_, i) => {
      const handle = await host.start(parking, { i: done + i })
      expectEqual(await handle.rest(), 'waiting', 'status')
      await then?.(handle)
    })
    await Promise.all(batch)
  }
}

async function finishRuns(host: Host, count: number): Promise<void> {
  const questions = new Map<string, string>()
  const leave = host.subscribe({ type: 'question-asked' }, (heard) => {
    if ('id' in heard) questions.set(heard.run, heard.id)
  })
  await parkRuns(host, count, async (handle) => {
    await handle.answer(questions.get(handle.id) ?? '', 'yes')
    questions.delete(handle.id)
    return handle.result()
  })
  leave()
}

export interface Reopened {
  readonly rssMb: number
  readonly openMs: number
}

function reopen(dir: string): Reopened {
  const script = join(import.meta.dirname, 'nerve-reopen.ts')
  const child = spawnSync(process.execPath, [...process.execArgv, script, dir], { encoding: 'utf8' })
  if (child.status !== 0) throw new Error(`a new host could not go on: ${child.stderr.slice(-400)}`)
  return JSON.parse(child.stdout) as Reopened
}

export async function park({ dir, n }: Setup): Promise<MemoryAdded> {
  const folder = join(dir, 'store')
  mkdirSync(folder, { recursive: true })
  const host = await createHost({ dir: folder })
  await finishRuns(host, Math.min(FINISHED_BEFORE, n))
  const before = await settleMemory()
  const began = now()
  await parkRuns(host, n)
  const startMs = now() - began
  const after = await settleMemory()
  await host.close()
  const { rssMb, openMs } = reopen(folder)
  return {
    runs: n,
    totalRssMb: after.rssMb,
    rssMb: after.rssMb - before.rssMb,
    heapMb: after.heapMb - before.heapMb,
    reopenedRssMb: rssMb,
    reopenMs: openMs,
    startMs,
  }
}

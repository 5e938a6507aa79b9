/** Golden journals: what earlier versions of Nerve wrote replays on this one, for ever. */
import { readdirSync, readFileSync } from 'node:fs'
import { beforeEach, describe, expect, it } from 'vitest'
import { createHost, type Host } from 'nerve'
import { MemoryStore } from 'nerve/testing'
import type { EventType, RunStatus } from '../../src/journal/events.ts'
import { timelineOf } from '../../src/projections/timeline.ts'
import { definitions, ran } from './definitions.ts'

const FOLDER = new URL('journals/', import.meta.url)
const files = readdirSync(FOLDER).filter((file) => file.endsWith('.jsonl'))
const text = (file: string): string => readFileSync(new URL(file, FOLDER), 'utf8')

/** How each journal ends. */
const ENDS: Readonly<Record<string, RunStatus>> = {
  'careful.jsonl': 'completed',
  'edited.jsonl': 'completed',
  'failing.jsonl': 'failed',
  'family.jsonl': 'completed',
  'parallel.jsonl': 'completed',
  'recovered.jsonl': 'completed',
  'sequence.jsonl': 'completed',
  'spender.jsonl': 'completed',
  'steered.jsonl': 'completed',
  'stopped.jsonl': 'cancelled',
  'talk.jsonl': 'completed',
  'trouble.jsonl': 'completed-with-failures',
  'waiting.jsonl': 'paused',
}

/** Every type there is. One that is missing here does not compile. */
const TYPES: { readonly [Type in EventType]: true } = {
  'run-created': true,
  'scope-opened': true,
  'race-decided': true,
  'step-started': true,
  'step-completed': true,
  'step-failed': true,
  'step-skipped': true,
  'step-stopped': true,
  'step-kept': true,
  'value-recorded': true,
  'timer-set': true,
  'timer-fired': true,
  'question-asked': true,
  'question-answered': true,
  'question-expired': true,
  'question-withdrawn': true,
  'signal-received': true,
  'wait-started': true,
  'signal-taken': true,
  'wait-expired': true,
  'wait-withdrawn': true,
  'messages-taken': true,
  'child-started': true,
  'child-ended': true,
  emitted: true,
  'checkpoint-recorded': true,
  'budget-warned': true,
  'budget-exhausted': true,
  'budget-raised': true,
  'run-recovered': true,
  'run-paused': true,
  'run-resumed': true,
  'interrupt-requested': true,
  'cancel-requested': true,
  'plan-accepted': true,
  'run-completed': true,
  'run-failed': true,
  'run-cancelled': true,
}

async function imported(file: string): Promise<{ readonly host: Host; readonly run: string }> {
  const host = await createHost({ store: new MemoryStore(), definitions })
  return { host, run: (await host.import(text(file))).id }
}

beforeEach(() => {
  ran.length = 0
})

describe('a golden journal', () => {
  it('is there for every ending', () => {
    expect(files.toSorted()).toEqual(Object.keys(ENDS))
  })

  it('has every type of event that there is, in one file or another', () => {
    const found = new Set<string>()
    for (const file of files) {
      for (const line of text(file).trimEnd().split('\n').slice(1)) found.add((JSON.parse(line) as { event: { type: string } }).event.type)
    }
    expect(Object.keys(TYPES).filter((type) => !found.has(type))).toEqual([])
    expect([...found].filter((type) => !(type in TYPES))).toEqual([])
  })

  for (const file of files) {
    it(`replays: ${file}`, async () => {
      const { host, run } = await imported(file)
      expect((await host.run(run)).status).toBe(ENDS[file])
      for (const row of (await host.runs({ children: true })).filter((one) => one.root === run)) {
        const replayed = await host.replay(row.run)
        expect(replayed.problems, `${row.definition} of ${file}`).toEqual([])
        expect(replayed.plan).toMatchObject({ rerun: [], unknown: [] })
        expect(timelineOf(await host.journal(row.run)).items.size).toBeGreaterThan(0)
      }
      expect(ran).toEqual([])
      await host.close()
    })

    it(`exports as it was: ${file}`, async () => {
      const { host, run } = await imported(file)
      const again = await host.export(run)
      // A run that had not ended is paused by its import, which is one event more.
      const kept = ENDS[file] === 'paused' ? again.trimEnd().split('\n').slice(0, -1).join('\n') : again.trimEnd()
      expect(kept).toBe(text(file).trimEnd())
      await host.close()
    })
  }

  it('of a run that waits goes on to its end, with nothing done again', async () => {
    const { host, run } = await imported('waiting.jsonl')
    const handle = await host.handle(run)
    await handle.resume()
    await handle.rest()
    expect(ran).toEqual([])
    await handle.answer((await host.inbox())[0]?.id ?? '', 'yes')
    expect(await handle.result()).toEqual(['Ada first', 'yes', 'Ada last'])
    expect(ran).toEqual(['last'])
    await host.close()
  })
})

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { lengthOf, openElsewhere, transcriptOf, usageSince } from './session-record.ts'

const SESSION = '7b0ad4a6-5f0e-4a52-8f47-2f4a1c9f3b10'

function place(): string {
  const made = mkdtempSync(join(tmpdir(), 'nerve-claude-record-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  mkdirSync(join(made, 'projects', '-srv-app'), { recursive: true })
  mkdirSync(join(made, 'sessions'))
  return made
}

const said = (id: string, output: number, stop: string | null): string =>
  `${JSON.stringify({
    type: 'assistant',
    message: { id, stop_reason: stop, usage: { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: output } },
  })}\n`

describe('the record of a conversation', () => {
  it('is found in whatever project it is', () => {
    const dir = place()
    expect(transcriptOf(dir, SESSION)).toBeUndefined()
    const file = join(dir, 'projects', '-srv-app', `${SESSION}.jsonl`)
    writeFileSync(file, '')
    expect(transcriptOf(dir, SESSION)).toBe(file)
    expect(transcriptOf(join(dir, 'nowhere'), SESSION)).toBeUndefined()
  })

  it('counts each answer once, from where the turn began', async () => {
    const file = join(place(), 'projects', `${SESSION}.jsonl`)
    writeFileSync(file, said('before', 1_000, 'end_turn'))
    const from = lengthOf(file)
    writeFileSync(file, `no JSON with "usage"\n${said('a', 1, 'tool_use').repeat(2)}${said('b', 2, 'end_turn')}`, {
      flag: 'a',
    })
    const patient = { from, patience: 10_000 }
    expect(await usageSince(file, SESSION, patient)).toEqual({ tokens: 33, calls: 2 })
    expect(await usageSince(file, SESSION, { from: lengthOf(file), patience: 0 })).toBeUndefined()
    // A path that is not that of this conversation is not read, whoever says so.
    expect(await usageSince(file, 'another', patient)).toBeUndefined()
  })

  it('names the process that has it open, if that is alive and still the same', () => {
    const dir = place()
    const note = (fields: object): void =>
      writeFileSync(
        join(dir, 'sessions', '1.json'),
        JSON.stringify({ sessionId: SESSION, pid: process.pid, ...fields }),
      )
    note({})
    expect(openElsewhere(dir, SESSION)).toBe(process.pid)
    expect(openElsewhere(dir, 'another')).toBeUndefined()
    note({ pid: 2 ** 22 + 1 })
    expect(openElsewhere(dir, SESSION)).toBeUndefined()
    writeFileSync(join(dir, 'sessions', '1.json'), '{')
    expect(openElsewhere(dir, SESSION)).toBeUndefined()
  })

  it.runIf(process.platform === 'linux')('is not held by a later process with the same number', () => {
    const dir = place()
    const started = JSON.stringify({ sessionId: SESSION, pid: process.pid, procStart: '1' })
    writeFileSync(join(dir, 'sessions', '1.json'), started)
    expect(openElsewhere(dir, SESSION)).toBeUndefined()
  })
})

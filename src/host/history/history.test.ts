/** Histories are files: these tests write and damage real ones. */
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { NerveError } from '../../base/nerve-error.ts'
import type { StepCall } from '../../engine/definition.ts'
import { SimulatedClock } from '../../testing/simulated-clock.ts'
import { historyFile, type HistoryEntry } from './history.ts'
import { nodeHistory, readHistory } from './history-reader.ts'
import { HistoryWriter } from './history-writer.ts'
import { beginRecording } from './recorder.ts'
import { createRedactor } from '../../base/redact.ts'

function place(): { readonly dir: string; readonly file: string } {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-history-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return { dir, file: historyFile(dir, 'main', 'shell') }
}

const problems: unknown[] = []
const clock = new SimulatedClock(1_000)

function openWriter(file: string): Promise<HistoryWriter> {
  const redactor = createRedactor({ env: { MY_TOKEN: 'not-for-eyes' } })
  return HistoryWriter.open({ file, clock, redactor, onProblem: (error) => problems.push(error) })
}

async function entriesOf(file: string): Promise<readonly HistoryEntry[]> {
  return (await readHistory(file)).entries
}

describe('the history of a node', () => {
  it('is numbered lines of JSON, in a file that only its owner can read, without secrets', async () => {
    const { file } = place()
    const writer = await openWriter(file)
    expect(writer.record({ operation: 'send', input: { text: 'say not-for-eyes' } })).toBe(1)
    expect(writer.record({ operation: 'send', of: 1, output: 'said', ms: 3 })).toBe(2)
    await writer.flush()
    expect(
      readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .map((line): unknown => JSON.parse(line)),
    ).toEqual([
      { seq: 1, time: 1_000, operation: 'send', input: { text: 'say [redacted]' } },
      { seq: 2, time: 1_000, operation: 'send', of: 1, output: 'said', ms: 3 },
    ])
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  it('is read whole, also texts that have separators of lines in them', async () => {
    const { file } = place()
    const writer = await openWriter(file)
    const text = 'one\u2028two\u2029three\nfour\r\nfive'
    writer.record({ operation: 'send', input: text })
    await writer.flush()
    expect(await readHistory(file)).toMatchObject({ entries: [{ input: text }], unreadable: 0 })
  })

  it('makes no file before there is something to write', async () => {
    const { dir, file } = place()
    const writer = await openWriter(file)
    await writer.close()
    expect(() => statSync(join(dir, '.nerve'))).toThrow(/ENOENT/u)
    expect(await readHistory(file)).toEqual({ entries: [], unreadable: 0 })
  })

  it('keeps the order of what is recorded at once, and goes on with its numbers', async () => {
    const { file } = place()
    const first = await openWriter(file)
    for (let i = 0; i < 500; i += 1) first.record({ operation: 'write', input: i })
    await first.close()
    expect(first.record({ operation: 'write', input: 'late' })).toBe(500)
    const second = await openWriter(file)
    expect(second.record({ operation: 'read', output: 'x' })).toBe(501)
    await second.close()
    const entries = await entriesOf(file)
    expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 501 }, (_, index) => index + 1))
    expect(entries.slice(0, 500).map(({ input }) => input)).toEqual(Array.from({ length: 500 }, (_, index) => index))
  })

  it.each([1, 7, 40])('bears a last line that a crash cut short by %i bytes', async (missing) => {
    const { file } = place()
    const first = await openWriter(file)
    first.record({ operation: 'write', input: 'whole' })
    first.record({ operation: 'write', input: 'a line that is cut short, somewhere' })
    await first.close()
    truncateSync(file, statSync(file).size - missing)
    // Without its end a line may still be whole; else it is the one that is lost.
    const kept = missing === 1 ? 2 : 1
    expect(await readHistory(file)).toMatchObject({ unreadable: 2 - kept, entries: { length: kept } })
    const second = await openWriter(file)
    expect(second.record({ operation: 'write', input: 'after' })).toBe(kept + 1)
    await second.close()
    const after = await readHistory(file)
    expect(after.unreadable).toBe(2 - kept)
    expect(after.entries.at(-1)).toMatchObject({ seq: kept + 1, input: 'after' })
  })

  it('finds its number behind a last line that is longer than it first looks at', async () => {
    const { file } = place()
    const first = await openWriter(file)
    first.record({ operation: 'send', input: Array.from({ length: 10 }, () => 'ä'.repeat(60_000)) })
    await first.close()
    appendFileSync(file, `{"seq":9,"torn":"${'x'.repeat(200_000)}`)
    const second = await openWriter(file)
    expect(second.record({ operation: 'close' })).toBe(2)
    await second.close()
    expect((await entriesOf(file)).map(({ seq }) => seq)).toEqual([1, 2])
  })

  it('tells when it cannot be written, and writes on when it can', async () => {
    const { file } = place()
    mkdirSync(dirname(dirname(file)), { recursive: true })
    const writer = await openWriter(file)
    writeFileSync(dirname(file), 'a file where the folder should be')
    writer.record({ operation: 'write', input: 'first' })
    await writer.flush()
    rmSync(dirname(file))
    writer.record({ operation: 'write', input: 'second' })
    await writer.close()
    expect(problems.at(-1)).toBeInstanceOf(NerveError)
    expect((problems.at(-1) as NerveError).code).toBe('store-failed')
    expect((await entriesOf(file)).map(({ input }) => input)).toEqual(['second'])
  })

  it('is read by the last, by operation, by time, and inputs only', async () => {
    const { dir, file } = place()
    const writer = await openWriter(file)
    const time = new SimulatedClock(0)
    const timed = await HistoryWriter.open({
      file,
      clock: time,
      redactor: createRedactor({ env: {} }),
      onProblem: fail,
    })
    await writer.close()
    for (const operation of ['send', 'write', 'interrupt', 'send'] as const) {
      timed.record(operation === 'interrupt' ? { operation } : { operation, input: operation })
      time.advance(10)
    }
    await timed.close()
    const of = { dir, session: 'main', node: 'shell' }
    const seqs = async (filter: Parameters<typeof nodeHistory>[1]): Promise<number[]> =>
      (await nodeHistory(of, filter)).entries.map(({ seq }) => seq)
    expect(await seqs({ last: 2 })).toEqual([3, 4])
    expect(await seqs({ last: 0 })).toEqual([])
    expect(await seqs({ operation: 'send' })).toEqual([1, 4])
    expect(await seqs({ operation: ['send', 'interrupt'], last: 2 })).toEqual([3, 4])
    expect(await seqs({ since: 20 })).toEqual([3, 4])
    expect(await seqs({ inputsOnly: true })).toEqual([1, 2, 4])
    await expect(seqs({ operation: 'typo' as never })).rejects.toThrow(/operation is "typo"; give one of send, stream/u)
    await expect(seqs({ last: -1 })).rejects.toThrow(/last is -1/u)
    await expect(nodeHistory({ ...of, node: '../../etc/passwd' })).rejects.toThrow(/is not a name for a node/u)
  })
})

describe('a recording', () => {
  const call = (emit: StepCall['emit']): StepCall => ({
    key: 'run1/review/say',
    path: 'review/say',
    attempt: 1,
    resumed: false,
    signal: new AbortController().signal,
    usage: () => undefined,
    reserve: () => undefined,
    emit,
    keep: () => Promise.resolve(),
    kept: undefined,
    answer: undefined,
    park: (prompt) => {
      throw new Error(prompt)
    },
    ask: () => Promise.reject(new Error('Nobody is here.')),
  })

  it('has a line for the beginning and one for the end, with the step', () => {
    const lines: unknown[] = []
    const sink = { record: (line: object) => lines.push(line) }
    beginRecording(sink, { operation: 'send', input: 'a', call: call(fail), now: () => 5 }).ended('b')
    const step = { run: 'run1', path: 'review/say' }
    expect(lines).toEqual([
      { operation: 'send', input: 'a', ...step },
      { operation: 'send', of: 1, output: 'b', ms: 0, ...step },
    ])
  })

  it('ends as a stream when live parts came, with all of their text, and passes them on', () => {
    const lines: { operation: string; buffer?: string }[] = []
    const heard: unknown[] = []
    const sink = { record: (line: { operation: string }) => lines.push(line) }
    const recording = beginRecording(sink, {
      operation: 'send',
      call: call((type, data) => heard.push([type, data])),
      now: () => 5,
    })
    recording.emit('output', 'one ')
    recording.emit('output', Buffer.from('two'))
    recording.emit('waiting', { for: 'ada' })
    recording.failed(new Error('gone'))
    expect(heard).toHaveLength(3)
    expect(lines.at(-1)).toMatchObject({ operation: 'stream', of: 1, buffer: 'one two', error: { message: 'gone' } })
  })

  it('keeps the end of a very long stream, and cuts it between words', () => {
    const lines: { operation: string; buffer?: string }[] = []
    const sink = { record: (line: { operation: string }) => lines.push(line) }
    const recording = beginRecording(sink, { operation: 'send', call: call(() => undefined), now: () => 5 })
    for (let i = 0; i < 200_000; i += 1) recording.emit('output', `word${i}\n`)
    recording.ended(undefined)
    const { buffer = '' } = lines.at(-1) ?? {}
    expect(buffer.length).toBeLessThan(270_000)
    expect(buffer).toMatch(/^\(\d+ characters before\) …\nword\d+\n/u)
    expect(buffer.endsWith('word199999\n')).toBe(true)
  })
})

function fail(...given: readonly unknown[]): never {
  throw new Error(`not expected: ${JSON.stringify(given)}`)
}

/** Runs as text: one line of JSON for the file, then one for each event. Golden journals are such files. */
import { isId } from '../base/ids.ts'
import { NerveError } from '../base/nerve-error.ts'
import { contentHash } from '../base/value.ts'
import { decodeEvent, encodeEvent, type Row } from '../journal/codec.ts'
import { FORMAT } from '../journal/events.ts'
import { fold } from '../journal/fold.ts'
import { emptyState, type RunState } from '../journal/run-state.ts'
import { headOf } from '../journal/head.ts'
import type { Append } from '../journal/port.ts'
import type { Engine } from './engine.ts'

interface Line {
  readonly run: string
  readonly seq: number
  readonly time: number
  readonly event: Record<string, unknown>
  readonly value?: string
}

const PAGE = 1_000

/** The run and its children, as lines. */
export async function* exportRun(engine: Engine, root: string): AsyncGenerator<string, void, void> {
  const heads = (await engine.store.heads({ root })).toReversed()
  yield JSON.stringify({ nerve: 'export', format: FORMAT, root, runs: heads.map(({ head }) => head.run) })
  for (const { head } of heads) {
    for (let after = 0; ;) {
      const rows = await engine.store.read(head.run, after, PAGE)
      for (const row of rows) yield lineOf(head.run, row)
      if (rows.length < PAGE) break
      after = rows.at(-1)?.seq ?? after
    }
  }
}

/** Reads an exported file into the store. Runs that had not ended are paused: importing starts nothing. */
export async function importRun(engine: Engine, text: string): Promise<string> {
  const { root, lines } = parse(text)
  if ((await engine.store.find(root))?.head.run === root)
    throw new NerveError('bad-file', `Run ${root} is here already. Nothing was changed.`)
  const appends = [...Map.groupBy(lines, ({ run }) => run)].map(([run, own]) => appendOf(engine, run, own))
  checkTree(root, appends)
  await engine.ownership.announce()
  await engine.store.append(appends, 'power')
  await engine.store.release(root, engine.ownership.host)
  return root
}

/** One tree, from its root on: only the pause of its root holds a run back, so no other one may be in the file. */
function checkTree(root: string, appends: readonly Append[]): void {
  if (appends[0]?.run !== root)
    throw new NerveError('bad-file', 'The file does not begin with its root run. Nothing was changed.')
  const before = new Set<string>()
  for (const { run, head } of appends) {
    const parent = head?.parent
    const belongs = run === root ? parent === undefined : parent !== undefined && before.has(parent)
    if (head?.root !== root || !belongs)
      throw new NerveError('bad-file', `Run ${run} in the file is not of the tree of ${root}. Nothing was changed.`)
    before.add(run)
  }
}

function lineOf(run: string, row: Row): string {
  const value = row.blobText === undefined ? {} : { value: row.blobText }
  return JSON.stringify({ run, seq: row.seq, time: row.time, event: JSON.parse(row.data) as unknown, ...value })
}

function parse(text: string): { readonly root: string; readonly lines: readonly Line[] } {
  const [first, ...rest] = text.split('\n').filter((line) => line.trim() !== '')
  const header = json(first ?? '', 1) as { nerve?: unknown; format?: unknown; root?: unknown }
  if (header.nerve !== 'export' || typeof header.root !== 'string')
    throw new NerveError('bad-file', 'This is not an exported run: its first line is not a Nerve export header.')
  if (typeof header.format !== 'number' || header.format > FORMAT) {
    throw new NerveError(
      'store-newer',
      `The file was written by a newer Nerve (format ${String(header.format)}, this one knows ${FORMAT}). Update Nerve.`,
    )
  }
  return { root: header.root, lines: rest.map((line, index) => checkLine(json(line, index + 2), index + 2)) }
}

function json(text: string, line: number): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new NerveError('bad-file', `Line ${line} of the file is not JSON. Nothing was changed.`, { cause })
  }
}

function checkLine(value: unknown, line: number): Line {
  const one = value as Partial<Line> | null
  const good =
    typeof one === 'object' &&
    one !== null &&
    isId(one.run) &&
    Number.isInteger(one.seq) &&
    typeof one.time === 'number' &&
    typeof one.event === 'object' &&
    one.event !== null
  if (good) return one as Line
  throw new NerveError(
    'bad-file',
    `Line ${line} of the file is not an event (run, seq, time, event). Nothing was changed.`,
  )
}

function appendOf(engine: Engine, run: string, lines: readonly Line[]): Append {
  const state = emptyState(run)
  const rows = lines.map((line, index) => rowOf(state, line, index + 1))
  if (state.created === 0)
    throw new NerveError('bad-file', `Run ${run} in the file does not begin with run-created. Nothing was changed.`)
  if (state.end === undefined && state.parent === undefined && !state.paused) {
    const time = engine.clock.now()
    const event = { type: 'run-paused', reason: 'asked', by: 'import' } as const
    rows.push(encodeEvent(event, state.seq + 1, time))
    fold(state, state.seq + 1, time, event)
  }
  return { run, epoch: 1, rows, head: headOf(state), create: { host: engine.ownership.host } }
}

function rowOf(state: RunState, line: Line, expected: number): Row {
  if (line.seq !== expected)
    throw new NerveError(
      'bad-file',
      `Run ${line.run} in the file has event ${line.seq} where ${expected} belongs. Nothing was changed.`,
    )
  const blob = line.value === undefined ? {} : { blob: contentHash(line.value), blobText: line.value }
  const row: Row = { seq: line.seq, time: line.time, data: JSON.stringify(line.event), ...blob }
  try {
    fold(state, line.seq, line.time, decodeEvent(row))
  } catch (cause) {
    throw new NerveError(
      'bad-file',
      `Event ${line.seq} of run ${line.run} in the file is not known: ${(cause as Error).message}`,
      { cause },
    )
  }
  return row
}

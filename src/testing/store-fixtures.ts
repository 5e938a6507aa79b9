/** Rows and heads for the conformance suite of stores, and short ways to write and read them. */
import { deepStrictEqual } from 'node:assert'
import { encodeEvent, type Row } from '../journal/codec.ts'
import type { JournalEvent, RunStatus } from '../journal/events.ts'
import type { Append, JournalStore, OwnedHead, RunHead } from '../journal/port.ts'

export const STRANGE_TEXTS: readonly string[] = [
  '',
  ' ',
  '\0 \u0001 \t \n \r\n',
  'Grüße, 世界, שלום, 🧠👩‍👩‍👧',
  '\ud800 alone \udc00',
  '\u2028\u2029\ufeff',
  `'; DROP TABLE runs; --`,
  '{"$nerve":"date","v":1}',
  '${not} {{a}} %s template',
]

interface Made extends Partial<RunHead> {
  readonly host?: string
}

export function head(run: string, more: Partial<RunHead> = {}): RunHead {
  return {
    run,
    root: run,
    definition: 'demo',
    status: 'running' satisfies RunStatus,
    created: 1,
    updated: 1,
    questions: [],
    signals: [],
    usage: { steps: 0 },
    failures: 0,
    steps: 0,
    ...more,
  }
}

export function question(run: string): RunHead['questions'][number] {
  return { path: 'ask', id: `${run}-2`, kind: 'ask', prompt: 'Well?', asked: 1 }
}

export function created(run: string): Row {
  const event: JournalEvent = { type: 'run-created', format: 1, definition: 'demo', root: run, depth: 0 }
  return encodeEvent(event, 1, 1)
}

export async function create(store: JournalStore, run: string, made: Made = {}): Promise<void> {
  const { host = 'h1', ...more } = made
  const append = { run, epoch: 1, rows: [created(run)], head: head(run, more), create: { host } }
  deepStrictEqual(await store.append([append], 'process'), ['ok'])
}

export async function append(
  store: JournalStore,
  run: string,
  rows: readonly Row[],
  more: Partial<Append> = {},
): Promise<string | undefined> {
  return (await store.append([{ run, epoch: 1, rows, ...more }], 'process'))[0]
}

export function completed(): Extract<JournalEvent, { type: 'step-completed' }> {
  return { type: 'step-completed', path: 'a', attempt: 1, started: 1 }
}

export function step(seq: number): Row {
  return encodeEvent({ ...completed(), output: seq }, seq, seq)
}

/** A row without what a store may add to it. */
export function plain({ seq, time, data }: Row): Row {
  return { seq, time, data }
}

export async function seqs(store: JournalStore, run: string, after = 0, limit = 100): Promise<number[]> {
  return (await store.read(run, after, limit)).map((row) => row.seq)
}

export async function owner(store: JournalStore, run: string): Promise<OwnedHead['owner']> {
  return (await store.find(run))?.owner
}

export function ids(heads: readonly OwnedHead[]): string[] {
  return heads.map((one) => one.head.run)
}

export function commandIds(commands: readonly { readonly id: number }[]): number[] {
  return commands.map((command) => command.id)
}

/** Reads the history of a node, while it is written or after a crash. */
import { createReadStream } from 'node:fs'
import { LineSplitter } from '../../base/line-splitter.ts'
import { NerveError } from '../../base/nerve-error.ts'
import { checkName } from '../sessions/session-names.ts'
import { OPERATIONS, historyFile, type HistoryEntry, type HistoryOperation } from './history.ts'

export interface HistoryFilter {
  /** Only so many, the latest. */
  readonly last?: number
  readonly operation?: HistoryOperation | readonly HistoryOperation[]
  /** From this time on (milliseconds since the epoch). */
  readonly since?: number
  /** Only the lines that say what went in. */
  readonly inputsOnly?: boolean
}

export interface HistoryRead {
  readonly entries: readonly HistoryEntry[]
  /** How many lines could not be read: what a crash left unfinished. */
  readonly unreadable: number
}

export interface HistoryOf {
  /** The project folder. */
  readonly dir: string
  readonly session: string
  readonly node: string
}

/** What one node of a session saw and did. A node that has done nothing yet has no history: then it is empty. */
export async function nodeHistory(of: HistoryOf, filter: HistoryFilter = {}): Promise<HistoryRead> {
  checkName(of.session, 'a session')
  checkName(of.node, 'a node of a session')
  return readHistory(historyFile(of.dir, of.session, of.node), filter)
}

export async function readHistory(file: string, filter: HistoryFilter = {}): Promise<HistoryRead> {
  const wanted = matching(filter)
  const most = filter.last ?? Number.POSITIVE_INFINITY
  const entries: HistoryEntry[] = []
  let unreadable = 0
  try {
    for await (const line of linesOf(file)) {
      if (line === '') continue
      const entry = parseLine(line)
      if (entry === undefined) unreadable += 1
      else if (wanted(entry)) entries.push(entry)
      if (entries.length > most) entries.shift()
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  return { entries, unreadable }
}

async function* linesOf(file: string): AsyncGenerator<string, void> {
  const lines = new LineSplitter()
  for await (const piece of createReadStream(file)) yield* lines.add(piece as Buffer) ?? []
  yield lines.rest()
}

/** A line as it was written, or undefined when it is none. */
export function parseLine(line: string): HistoryEntry | undefined {
  let found: unknown
  try {
    found = JSON.parse(line)
  } catch {
    return undefined
  }
  if (typeof found !== 'object' || found === null) return undefined
  const { seq, time, operation } = found as Record<string, unknown>
  const whole = Number.isSafeInteger(seq) && typeof time === 'number' && OPERATIONS.some((one) => one === operation)
  return whole ? (found as HistoryEntry) : undefined
}

function matching({ last, operation, since, inputsOnly }: HistoryFilter): (entry: HistoryEntry) => boolean {
  if (last !== undefined && !(Number.isSafeInteger(last) && last >= 0))
    throw new NerveError('bad-option', `last is ${JSON.stringify(last)}; give a whole number, 0 or more.`)
  const operations = operation === undefined ? undefined : [operation].flat()
  const unknown = operations?.find((one) => !OPERATIONS.includes(one))
  if (unknown !== undefined)
    throw new NerveError('bad-option', `operation is ${JSON.stringify(unknown)}; give one of ${OPERATIONS.join(', ')}.`)
  if (since !== undefined && !Number.isFinite(since))
    throw new NerveError('bad-option', `since is ${JSON.stringify(since)}; give milliseconds since the epoch.`)
  return (entry) =>
    (operations === undefined || operations.includes(entry.operation)) &&
    (since === undefined || entry.time >= since) &&
    (inputsOnly !== true || 'input' in entry)
}

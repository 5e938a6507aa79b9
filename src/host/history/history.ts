/** What one node saw and did, as lines of JSON: a projection for people. Nothing is recovered from it. */
import { join } from 'node:path'
import type { ErrorData } from '../../base/nerve-error.ts'

/**
 * What was done with the node. Each has a line when it begins and one when it ends; an execution that sent live parts ends
 * with `stream` instead of `send`.
 */
export const OPERATIONS = ['send', 'stream', 'write', 'run', 'read', 'interrupt', 'close'] as const
export type HistoryOperation = (typeof OPERATIONS)[number]

export interface HistoryEntry {
  /** 1, 2, 3 … in the file, also after a restart. */
  readonly seq: number
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly operation: HistoryOperation
  /** What went in. */
  readonly input?: unknown
  /** On the line of an end: the number of the line that it began with. */
  readonly of?: number
  readonly output?: unknown
  readonly error?: ErrorData
  /** The text of the live parts of a stream, all together. */
  readonly buffer?: string
  /** How long it took. */
  readonly ms?: number
  /** The step that did it: its run and its path in it. */
  readonly run?: string
  readonly path?: string
}

/** A line without what the writer gives it. */
export type HistoryLine = Omit<HistoryEntry, 'seq' | 'time'>

export function historyFile(dir: string, session: string, node: string): string {
  return join(dir, '.nerve', 'history', session, `${node}.jsonl`)
}

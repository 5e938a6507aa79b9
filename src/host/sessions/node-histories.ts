/** The histories of the nodes of a session. What happens before a node is truly in the session is not written. */
import type { Clock } from '../../base/clock.ts'
import { historyFile } from '../history/history.ts'
import { HistoryWriter } from '../history/history-writer.ts'
import type { HistorySink } from '../history/recorder.ts'
import type { Redactor } from '../../base/redact.ts'

export interface HistoriesOptions {
  /** Without a folder nothing is kept. */
  readonly dir: string | undefined
  readonly session: string
  readonly clock: Clock
  readonly redactor: Redactor
  readonly onProblem: (error: unknown) => void
}

export interface Histories {
  open(node: string): Promise<HistorySink | undefined>
  begin(node: string): void
  flush(node: string): Promise<void>
  close(node: string): Promise<void>
}

export function createHistories({ dir, session, ...parts }: HistoriesOptions): Histories {
  const open = new Map<string, { readonly writer: HistoryWriter; begun: boolean }>()
  return {
    async open(node) {
      if (dir === undefined) return undefined
      const writer = await HistoryWriter.open({ file: historyFile(dir, session, node), ...parts })
      const history = { writer, begun: false }
      open.set(node, history)
      return { record: (line) => (history.begun ? writer.record(line) : 0) }
    },
    begin(node) {
      const found = open.get(node)
      if (found !== undefined) found.begun = true
    },
    flush: async (node) => open.get(node)?.writer.flush(),
    async close(node) {
      const found = open.get(node)
      open.delete(node)
      await found?.writer.close()
    },
  }
}

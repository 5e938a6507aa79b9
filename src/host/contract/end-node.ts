/** Ending what lives in a session. */
import { isNerveError } from '../../base/nerve-error.ts'
import type { ManagedNode } from '../sessions/managed-node.ts'
import type { CatalogEntry } from '../sessions/session-catalog.ts'
import type { Session } from '../sessions/session.ts'

/** Ends a node. A pane that nobody here has taken hold of need not be taken hold of, or be able to start, to be ended. */
export async function endNode(node: ManagedNode, { pane }: Pick<CatalogEntry, 'pane'>): Promise<void> {
  if (pane !== undefined && node.state === 'created') await node.node.stop?.()
  else await node.stop()
}

/** Ends a node and takes it out of its session. */
export async function removeNode(session: Session, entry: CatalogEntry): Promise<void> {
  if (entry.pane !== undefined) {
    try {
      await endNode(session.node(entry.name), entry)
    } catch (error) {
      // Where the program of the panes is not, none of them is either.
      if (!isNerveError(error, 'pane-failed') || error.data['reason'] !== 'missing') throw error
    }
  }
  await session.remove(entry.name)
}

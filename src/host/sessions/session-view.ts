/** A session as data: for people to see, and to be made again from. */
import type { Member } from './admission.ts'
import { ManagedNode } from './managed-node.ts'
import type { SessionInfo, SessionMember } from './session.ts'
import type { MemberRecord } from './session-store.ts'

export function memberView({ planned, runnable }: Member): SessionMember {
  const { name, within, lineage } = planned
  return {
    name,
    kind: runnable.kind,
    ...(runnable instanceof ManagedNode
      ? { type: 'node' as const, persistent: runnable.persistent, state: runnable.state }
      : { type: 'definition' as const }),
    ...(within === undefined ? {} : { within }),
    ...(lineage === undefined ? {} : { lineage }),
  }
}

export function countsOf(list: readonly SessionMember[]): Pick<SessionInfo, 'nodes' | 'definitions' | 'states'> {
  const nodes = list.filter(({ type }) => type === 'node')
  const states: Partial<Record<NonNullable<SessionMember['state']>, number>> = {}
  for (const { state } of nodes) if (state !== undefined) states[state] = (states[state] ?? 0) + 1
  return { nodes: nodes.length, definitions: list.length - nodes.length, states }
}

export function memberRecord({ planned, runnable }: Member): MemberRecord {
  const { name, within, after, lineage } = planned
  return {
    name,
    kind: runnable.kind,
    ...(runnable instanceof ManagedNode
      ? { type: 'node' as const, persistent: runnable.persistent, ...runnable.config }
      : { type: 'definition' as const }),
    ...(within === undefined ? {} : { within }),
    ...(after.length === 0 ? {} : { after }),
    ...(lineage === undefined ? {} : { lineage }),
  }
}

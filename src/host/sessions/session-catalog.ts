/** What is in the sessions of a project, as it is planned and recorded. Opens none of them. */
import { NerveError } from '../../base/nerve-error.ts'
import { isNode } from '../../engine/run-node.ts'
import { nameOf } from '../registry.ts'
import { ManagedNode } from './managed-node.ts'
import { isNodeConfig } from './node-factory.ts'
import { nodeFactory } from './node-kinds.ts'
import { isEntry, plannedMembers } from './restored-members.ts'
import type { SessionItem, SessionPlan } from './session.ts'
import { SessionStore, type MemberRecord } from './session-store.ts'

export interface CatalogEntry extends MemberRecord {
  readonly session: string
  readonly tags: readonly string[]
  /** True when the project file says it: it cannot be taken out elsewhere. */
  readonly planned: boolean
  /** Where it lives on without a process of Nerve. */
  readonly pane?: string
}

export async function sessionCatalog(dir: string, plans: readonly SessionPlan[]): Promise<readonly CatalogEntry[]> {
  const store = new SessionStore(dir)
  const found: CatalogEntry[] = []
  for (const session of [...new Set([...plans.map(({ name }) => name), ...(await store.names())])].toSorted()) {
    const record = await store.read(session)
    const plan = plans.find(({ name }) => name === session)
    const tags = plan?.tags ?? record?.tags ?? []
    const planned = plan === undefined ? [] : plannedEntries({ ...plan, tags })
    const names = new Set(planned.map(({ name }) => name))
    const recorded = (record?.members ?? []).filter(({ name, within }) => !names.has(name) && !names.has(within ?? ''))
    found.push(...planned)
    for (const member of recorded) found.push({ session, tags, planned: false, ...paneOf(member), ...member })
  }
  return found
}

/** What a plan says is in a session. */
export function plannedEntries({ name: session, tags = [], nodes = [] }: SessionPlan): readonly CatalogEntry[] {
  return nodes.map((item) => {
    const member = plannedRecord(item)
    return { session, tags, planned: true, ...paneOf(member), ...member }
  })
}

/** One session, as it is planned and recorded. */
export interface SessionOverview {
  readonly name: string
  readonly tags: readonly string[]
  /** True when the project file says it. */
  readonly planned: boolean
  readonly members: number
}

/** The sessions of a project, also those with nothing in them. Opens none of them. */
export async function sessionSummaries(
  dir: string,
  plans: readonly SessionPlan[],
): Promise<readonly SessionOverview[]> {
  const store = new SessionStore(dir)
  const entries = await sessionCatalog(dir, plans)
  const names = new Set([...plans.map(({ name }) => name), ...(await store.names())])
  const found: SessionOverview[] = []
  for (const name of [...names].toSorted()) {
    const plan = plans.find((one) => one.name === name)
    const tags = plan?.tags ?? (await store.read(name))?.tags ?? []
    const members = entries.filter(({ session }) => session === name).length
    found.push({ name, tags, planned: plan !== undefined, members })
  }
  return found
}

function plannedRecord(item: SessionItem): MemberRecord {
  const { node, as } = isEntry(item) ? item : { node: item, as: undefined }
  if (isNodeConfig(node)) return { name: as ?? node.id, type: 'node', kind: node.kind, config: node }
  const { kind } = node
  const shared = { name: as ?? nameOf(node), kind }
  if (!isNode(node)) return { ...shared, type: 'definition' }
  const { config } = node.info() as { config?: Readonly<Record<string, unknown>> }
  const own = config === undefined ? undefined : { config: { ...config, kind, id: node.id } }
  return { ...shared, type: 'node', persistent: node.persistent, ...(nodeFactory.recorded(node) ?? own) }
}

/** Panes of tmux are found again, and so are panes that were there before. */
function paneOf({ config }: MemberRecord): Pick<CatalogEntry, 'pane'> {
  const place = config?.['in']
  const { mux, pane } = typeof place === 'string' ? { mux: place } : ((place ?? {}) as { mux?: string; pane?: string })
  return mux !== undefined && (mux === 'tmux' || pane !== undefined) ? { pane: mux } : {}
}

/** A node of the catalog by itself, without its session: for what may be done while another process has that open. */
export async function nodeByItself(entry: CatalogEntry, plans: readonly SessionPlan[]): Promise<ManagedNode> {
  const items = plans.find(({ name }) => name === entry.session)?.nodes ?? []
  const planned = (await plannedMembers(items, nodeFactory)).find(({ as, node }) => (as ?? nameOf(node)) === entry.name)
  const node = planned?.node ?? (await nodeFactory.create(entry.config ?? { kind: entry.kind, id: entry.name }))
  if (!isNode(node)) throw new NerveError('bad-option', `'${entry.name}' is a ${entry.kind}, not a node.`)
  return new ManagedNode(node, { name: entry.name })
}

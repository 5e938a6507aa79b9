/** What a session had, made again from what was recorded of it. */
import { NerveError } from '../../base/nerve-error.ts'
import { persistentIn } from '../../define/graph-steps.ts'
import type { AnyRunnable, Names } from '../../engine/definition.ts'
import { isDefinition, isNode } from '../../engine/run-node.ts'
import { nameOf } from '../registry.ts'
import { forkRunnable } from './fork-runnable.ts'
import { isNodeConfig, type NodeConfig, type NodeFactory } from './node-factory.ts'
import type { SessionEntry, SessionItem, SessionPlan } from './session.ts'
import type { MemberRecord, SessionRecord } from './session-store.ts'

export interface RestoreOptions {
  /** What cannot be made from a configuration: nodes of functions, graphs, workflows, by their names in the session. */
  readonly nodes?: readonly AnyRunnable[] | Readonly<Record<string, AnyRunnable>>
  /** Laid over the recorded configurations, by the names of nodes: secrets, which are not recorded. */
  readonly config?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

export interface PlannedEntry extends SessionEntry {
  readonly node: AnyRunnable
}

interface Sources {
  readonly given: ReadonlyMap<string, AnyRunnable>
  readonly over: NonNullable<RestoreOptions['config']>
  readonly factory: NodeFactory
  /** What the host knows. */
  readonly names: Names
}

/** What is asked for, made where it is a configuration. */
export async function plannedMembers(
  items: readonly SessionItem[],
  factory: NodeFactory,
): Promise<readonly PlannedEntry[]> {
  return Promise.all(
    items.map(async (item) => {
      const { node: given, ...more } = isEntry(item) ? item : { node: item }
      const node = isNodeConfig(given) ? await factory.create(given) : given
      return { ...more, node }
    }),
  )
}

export function isEntry(item: SessionItem): item is SessionEntry {
  return typeof item === 'object' && item !== null && 'node' in item && !isNode(item) && !('kind' in item)
}

interface Needed {
  readonly plan: SessionPlan | undefined
  /** What is recorded. */
  readonly before: SessionRecord | undefined
  readonly factory: NodeFactory
  readonly names: Names
}

/** What a session has in it when it is opened as planned and recorded; what the plan says goes before. */
export async function neededMembers({
  plan,
  before,
  factory,
  names,
}: Needed): Promise<readonly (PlannedEntry & { readonly as: string })[]> {
  const entries = await plannedMembers(plan?.nodes ?? [], factory)
  const planned = entries.map((one) => ({ as: nameOf(one.node), ...one }))
  if (before === undefined) return planned
  const nodes = Object.fromEntries(planned.map(({ as, node }) => [as, node]))
  const recorded = await restoredMembers(before, { nodes, factory, names })
  return [...recorded, ...planned.filter(({ as }) => !before.members.some(({ name }) => name === as))]
}

/** Everything that is missing is named at once, before anything has begun. */
export async function restoredMembers(
  record: SessionRecord,
  options: RestoreOptions & { readonly factory: NodeFactory; readonly names: Names },
): Promise<readonly (PlannedEntry & { readonly as: string })[]> {
  const { nodes = [], config: over = {}, factory, names } = options
  const list = Array.isArray(nodes) ? (nodes as readonly AnyRunnable[]).map((one) => [nameOf(one), one] as const) : []
  const given = new Map<string, AnyRunnable>(list.length > 0 ? list : Object.entries(nodes))
  const made = new Map<string, AnyRunnable>()
  const problems: string[] = []
  const entries: (PlannedEntry & { readonly as: string })[] = []
  for (const member of record.members) {
    if (member.within !== undefined) continue
    const found = await restored(member, { given, over, factory, names }, made)
    if (typeof found === 'string') problems.push(found)
    else entries.push({ node: found, as: member.name, ...(member.after === undefined ? {} : { after: member.after }) })
  }
  if (problems.length === 0) return entries
  throw new NerveError('not-ready', `Session '${record.name}' cannot be restored: ${problems.join(' ')}`, {
    data: { session: record.name, problems },
  })
}

/** What it was, or what is missing to make it. */
async function restored(
  member: MemberRecord,
  { given, over, factory, names }: Sources,
  made: Map<string, AnyRunnable>,
): Promise<AnyRunnable | string> {
  const { name, kind, config, lineage } = member
  const known = names.get(name)
  const origin = lineage === undefined ? undefined : made.get(lineage.forkedFrom)
  let found = given.get(name) ?? (known?.kind === kind ? known : undefined)
  if (found === undefined && config !== undefined) {
    // A node may have the name of something that every object has.
    const whole = laidOver(config, Object.hasOwn(over, name) ? over[name] : {}) as NodeConfig
    const missing = (member.omitted ?? []).filter((path) => at(whole, path) == null)
    if (missing.length > 0)
      return `'${name}' needs ${missing.join(', ')}, which is not recorded because it is secret or not data: give { config: { '${name}': { … } } }.`
    found = await factory.create(whole)
  }
  if (found === undefined && origin !== undefined) found = await forkRunnable(origin, name, factory)
  if (found === undefined) return `'${name}' (${kind}) is made by code: give it in { nodes }.`
  made.set(name, found)
  if (isDefinition(found)) for (const inside of persistentIn(found, undefined)) made.set(nameOf(inside), inside)
  return found
}

function laidOver(below: unknown, above: unknown): unknown {
  if (!isFields(below) || !isFields(above)) return above
  const all = Object.entries(above).map(([key, value]) => [key, laidOver(below[key], value)] as const)
  return { ...below, ...Object.fromEntries(all) }
}

function at(value: unknown, path: string): unknown {
  let found = value
  for (const key of path.split('.')) found = (found as Readonly<Record<string, unknown>> | null | undefined)?.[key]
  return found
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

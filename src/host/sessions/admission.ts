/**
 * Taking something into a session and letting it go: its name in the host's registry, the care for the node, its history.
 * Each can be undone, and is undone when a later one fails.
 */
import { NerveError } from '../../base/nerve-error.ts'
import type { AnyDefinition, AnyRunnable } from '../../engine/definition.ts'
import { careFor, isNode } from '../../engine/run-node.ts'
import type { Registry } from '../registry.ts'
import { ManagedNode, type ManageOptions } from './managed-node.ts'
import { renamed, type Planned } from './session-members.ts'

/** Something that is in a session. */
export interface Member {
  readonly planned: Planned
  /** What runs under its name. */
  readonly runnable: ManagedNode | AnyDefinition
  /** Takes it out again. It was stopped before. */
  readonly release: () => Promise<void>
}

export interface Surroundings {
  readonly session: string
  readonly registry: Registry
  /** How the session manages a node of this name, and what to do when that ends. */
  readonly manage: (
    planned: Planned,
  ) => Promise<{ readonly options: ManageOptions; readonly close: () => Promise<void> }>
}

export async function admit(planned: Planned, around: Surroundings): Promise<Member> {
  const { name, runnable } = planned
  if (!isNode(runnable)) {
    const definition = runnable.name === name ? runnable : renamed(runnable, name)
    const forget = makeKnown(around, definition, runnable)
    return { planned, runnable: definition, release: async () => forget() }
  }
  if (runnable instanceof ManagedNode) throw twice(name)
  const { options, close } = await around.manage(planned)
  const managed = new ManagedNode(runnable, { ...options, name })
  const forget = makeKnown(around, managed, runnable)
  let uncare: () => void
  try {
    uncare = careFor(runnable, managed)
  } catch {
    forget()
    await close()
    throw twice(name)
  }
  const release = async (): Promise<void> => {
    uncare()
    forget()
    await close()
  }
  return { planned, runnable: managed, release }
}

/** In which session the things of a registry are. */
const owners = new WeakMap<AnyRunnable, string>()

/** Puts it into the registry, where the thing itself may be known already; gives what puts that back. */
function makeKnown(
  { session, registry }: Surroundings,
  one: ManagedNode | AnyDefinition,
  own: AnyRunnable,
): () => void {
  const name = one instanceof ManagedNode ? one.id : one.name
  const there = registry.names.get(name)
  if (there !== undefined && there !== own) throw taken(session, name, there)
  if (there === own && owners.has(own)) throw twice(name)
  registry.replace(one)
  owners.set(one, session)
  return () => {
    owners.delete(one)
    // Newer code may have taken its place.
    if (registry.names.get(name) !== one) return
    if (there === undefined) registry.remove(name)
    else registry.replace(there)
  }
}

function taken(session: string, name: string, there: AnyRunnable): NerveError {
  const owner = owners.get(there)
  return new NerveError(
    'bad-option',
    `Session '${session}': the name '${name}' is taken on this host by a ${there.kind}` +
      `${owner === undefined ? '' : ` of session '${owner}'`}. Give yours another name: { node, as: name }.`,
    { data: { name, ...(owner === undefined ? {} : { session: owner }) } },
  )
}

function twice(name: string): NerveError {
  return new NerveError('bad-option', `'${name}' is in a session already: a node belongs to one session at a time.`)
}

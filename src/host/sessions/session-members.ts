/** What a session is to have in it, worked out before anything is done: names, order, and what is inside definitions. */
import { NerveError } from '../../base/nerve-error.ts'
import { persistentIn } from '../../define/graph-steps.ts'
import type { AnyDefinition, AnyRunnable } from '../../engine/definition.ts'
import { isDefinition, isNode } from '../../engine/run-node.ts'
import { nameOf } from '../registry.ts'
import type { Lineage } from './lineage.ts'
import { checkName, sameName } from './session-names.ts'

/** One thing that a session is to have, by value. */
export interface Wanted {
  readonly runnable: AnyRunnable
  /** Its name here, when that is not its own. */
  readonly as?: string
  /** What has to be started before it. */
  readonly after?: readonly string[]
  readonly lineage?: Lineage
}

export interface Planned {
  readonly name: string
  readonly runnable: AnyRunnable
  readonly after: readonly string[]
  /** The definition that it came with. */
  readonly within?: string
  readonly lineage?: Lineage
}

/** What is wanted, in the order in which it is started: what is inside a definition, and what is named in `after`, first. */
export function planMembers(wanted: readonly Wanted[], there: readonly Planned[]): readonly Planned[] {
  const all = new Map<AnyRunnable, Planned>(there.map((one) => [one.runnable, one]))
  const add = (one: Planned): void => {
    const same = [...all.values()].find(({ name }) => sameName(name, one.name))
    if (same !== undefined) throw taken(one, same)
    const twice = all.get(one.runnable)
    if (twice !== undefined)
      throw new NerveError('bad-option', `'${twice.name}' is in the session already; it cannot also be '${one.name}'.`)
    all.set(one.runnable, one)
  }
  for (const one of wanted) add(directly(one))
  for (const one of wanted) {
    if (!isDefinition(one.runnable)) continue
    const outer = all.get(one.runnable) as Planned
    const inside = [...persistentIn(one.runnable, undefined)]
    for (const node of inside) if (!all.has(node)) add(within(node, outer.name))
    const names = inside.map((node) => (all.get(node) as Planned).name)
    all.set(one.runnable, { ...outer, after: [...new Set([...outer.after, ...names])] })
  }
  return ordered([...all.values()]).filter((one) => !there.includes(one))
}

function directly({ runnable, as, after = [], lineage }: Wanted): Planned {
  const name: unknown = as ?? nameOf(runnable)
  checkName(name, 'something in a session', as === undefined ? ' Give it one: { node, as: name }.' : '')
  return { name, runnable, after, ...(lineage === undefined ? {} : { lineage }) }
}

/** A persistent node that came with a definition: it is known by its id. */
function within(runnable: AnyRunnable, outer: string): Planned {
  const name = nameOf(runnable)
  checkName(name, `a persistent node (inside '${outer}')`)
  return { name, runnable, after: [], within: outer }
}

function ordered(all: readonly Planned[]): readonly Planned[] {
  const byName = new Map(all.map((one) => [one.name, one]))
  const done = new Set<Planned>()
  const visit = (one: Planned, way: readonly string[]): void => {
    if (done.has(one)) return
    if (way.includes(one.name))
      throw new NerveError('bad-option', `after: ${[...way, one.name].join(' -> ')} goes round in a circle.`)
    for (const name of one.after) {
      const before = byName.get(name)
      if (before === undefined)
        throw new NerveError('bad-option', `'${one.name}' comes after '${name}', which is not in the session.`)
      visit(before, [...way, one.name])
    }
    done.add(one)
  }
  for (const one of all) visit(one, [])
  return [...done]
}

function taken({ name, within: outer }: Planned, there: Planned): NerveError {
  const where = outer === undefined ? '' : ` (inside '${outer}')`
  const also = there.within === undefined ? '' : `, inside '${there.within}'`
  return new NerveError(
    'bad-option',
    `The name '${name}'${where} is taken in the session by '${there.name}' (${there.runnable.kind}${also}). ` +
      'Names are unique across nodes, graphs and workflows, and differ in more than case.',
    { data: { name } },
  )
}

/** The definition under another name. */
export function renamed(definition: AnyDefinition, name: string): AnyDefinition {
  const { kind, options, check, outline, inner, always, fork, makes } = definition
  return {
    kind,
    name,
    options,
    run: (ctx, input): unknown => definition.run(ctx, input),
    ...(check === undefined ? {} : { check: (names) => definition.check?.(names) ?? [] }),
    ...(outline === undefined ? {} : { outline: () => ({ ...definition.outline?.(), id: name, kind }) }),
    ...(inner === undefined ? {} : { inner: () => definition.inner?.() ?? [] }),
    ...(always === undefined ? {} : { always: () => definition.always?.() ?? [] }),
    ...(fork === undefined ? {} : { fork: (copy) => definition.fork?.(copy) as AnyDefinition }),
    ...(makes === undefined ? {} : { makes: () => definition.makes?.() ?? new Map() }),
  }
}

/** True when nothing in it is kept between executions, so that a copy may share all of it. */
export function isStateless(one: AnyRunnable): boolean {
  if (isNode(one)) return !one.persistent && one.start === undefined && one.stop === undefined
  return persistentIn(one, undefined).size === 0
}

/** A project file, checked: what it is made into, or everything that is wrong with it. */
import { resolve } from 'node:path'
import { isNerveError } from '../../base/nerve-error.ts'
import { nearest } from '../../base/nearest.ts'
import type { AnyDefinition, AnyRunnable } from '../../engine/definition.ts'
import { isDefinition, isNode } from '../../engine/run-node.ts'
import { checkBudget } from '../../engine/start.ts'
import type { Budget } from '../../journal/events.ts'
import type { NotifySettings } from '../notifications/settings.ts'
import { nameOf } from '../registry.ts'
import { isNodeConfig, type NodeConfig, type NodeFactory, type NodeFields } from '../sessions/node-factory.ts'
import type { SessionPlan } from '../sessions/session.ts'
import { isName, sameName } from '../sessions/session-names.ts'
import { checkNotify } from './check-notify.ts'

export const DEFAULT_SESSION = 'default'

/** Kinds of nodes that work in a folder: that of the project, unless they say otherwise. */
const IN_A_FOLDER: readonly string[] = ['bash', 'terminal', 'claude-terminal']

export interface CheckedConfig {
  readonly sessions: readonly SessionPlan[]
  /** The graphs and workflows among the nodes. */
  readonly definitions: readonly AnyDefinition[]
  readonly budget: Budget
  /** Fields by the kind of node. */
  readonly fields: Readonly<Record<string, NodeFields>>
  /** Empty when nobody is to be told. */
  readonly notify: NotifySettings
}

interface Item {
  readonly name: string
  readonly node: AnyRunnable
  readonly as?: string
  readonly after?: readonly string[]
}

export async function checkConfig(
  given: unknown,
  { dir, factory }: { readonly dir: string; readonly factory: NodeFactory },
): Promise<CheckedConfig | { readonly problems: readonly string[] }> {
  const check = new ConfigCheck(dir, factory)
  const checked = await check.whole(given)
  return check.problems.length === 0 ? checked : { problems: check.problems }
}

/** The fields of a node with the defaults of its kind below them, and its folder as it is meant. */
export function withDefaults(
  config: NodeConfig,
  { dir, fields }: { readonly dir: string; readonly fields: CheckedConfig['fields'] },
): NodeConfig {
  const whole: NodeConfig = { ...fields[config.kind], ...config }
  const { cwd = IN_A_FOLDER.includes(config.kind) ? '.' : undefined, in: pane } = whole
  return {
    ...whole,
    ...(typeof cwd === 'string' ? { cwd: resolve(dir, cwd) } : {}),
    ...(pane === undefined ? {} : { in: inProject(pane, dir) }),
  }
}

/** A pane is found again by the project that it belongs to. */
function inProject(pane: unknown, dir: string): unknown {
  if (typeof pane === 'string') return { mux: pane, project: dir }
  return isFields(pane) ? { project: dir, ...pane } : pane
}

class ConfigCheck {
  readonly problems: string[] = []
  readonly #dir: string
  readonly #factory: NodeFactory
  #fields: CheckedConfig['fields'] = {}

  constructor(dir: string, factory: NodeFactory) {
    this.#dir = dir
    this.#factory = factory
  }

  async whole(given: unknown): Promise<CheckedConfig> {
    const nothing: CheckedConfig = { sessions: [], definitions: [], budget: {}, fields: {}, notify: {} }
    if (!isFields(given)) {
      this.problems.push('it has no default export that is an object: export default config({ nodes: […] }).')
      return nothing
    }
    this.#known('', given, ['nodes', 'sessions', 'defaults', 'notify'])
    const budget = this.#defaults(given['defaults'])
    this.problems.push(...checkNotify(given['notify']))
    const nodes = await this.#items('nodes', given['nodes'])
    const sessions = await this.#sessions(given['sessions'], nodes)
    const all = [...nodes, ...sessions.flatMap((session) => session.own)]
    this.#unique(all)
    const claimed = new Set(sessions.flatMap(({ items }) => items))
    const rest = nodes.filter((item) => !claimed.has(item))
    this.#order(sessions, rest)
    return {
      sessions: plans(sessions, rest),
      definitions: all.map(({ node }) => node).filter(isDefinition),
      budget,
      fields: this.#fields,
      notify: given['notify'] ?? {},
    }
  }

  #defaults(given: unknown): Budget {
    if (given === undefined) return {}
    if (!this.#object('defaults', given)) return {}
    this.#known('defaults', given, ['budget', 'nodes'])
    const { budget, nodes } = given
    if (nodes !== undefined && this.#object('defaults.nodes', nodes)) {
      const kinds = this.#factory.kinds()
      this.#known('defaults.nodes', nodes, kinds, 'kind of node')
      for (const [kind, fields] of Object.entries(nodes)) this.#object(`defaults.nodes.${kind}`, fields)
      this.#fields = nodes as CheckedConfig['fields']
    }
    if (budget === undefined || !this.#object('defaults.budget', budget)) return {}
    try {
      checkBudget(budget)
    } catch (error) {
      this.#caught('defaults', error)
    }
    return budget
  }

  async #sessions(given: unknown, nodes: readonly Item[]): Promise<readonly CheckedSession[]> {
    if (given === undefined || !this.#object('sessions', given)) return []
    const sessions: CheckedSession[] = []
    const taken = new Map<Item, string>()
    for (const [name, session] of Object.entries(given)) {
      const at = `sessions.${name}`
      if (!isName(name))
        this.problems.push(`${at}: this is not a name for a session. Use letters, digits, '-' and '_'.`)
      if (sessions.some((one) => sameName(one.name, name)))
        this.problems.push(`${at}: the name is used twice. Names are unique, and differ in more than case.`)
      if (!this.#object(at, session)) continue
      this.#known(at, session, ['tags', 'nodes'])
      const { tags = [], nodes: list = [] } = session
      if (!Array.isArray(tags) || !tags.every((tag) => typeof tag === 'string' && tag !== ''))
        this.problems.push(`${at}.tags: give a list of texts.`)
      const own: Item[] = []
      const items: Item[] = []
      for (const [index, one] of this.#list(`${at}.nodes`, list).entries()) {
        const place = `${at}.nodes[${index}]`
        const item = typeof one === 'string' ? this.#named(place, one, nodes) : await this.#item(place, one)
        if (item === undefined) continue
        if (typeof one !== 'string') own.push(item)
        const other = taken.get(item)
        if (other !== undefined) this.problems.push(`${place}: '${item.name}' is in the session '${other}' already.`)
        taken.set(item, name)
        items.push(item)
      }
      sessions.push({ name, tags: tags as readonly string[], items, own })
    }
    return sessions
  }

  #named(at: string, name: string, nodes: readonly Item[]): Item | undefined {
    const found = nodes.find((item) => item.name === name)
    if (found === undefined) {
      const names = nodes.map((item) => item.name)
      const known = names.length === 0 ? 'There are none.' : `Known: ${names.join(', ')}.`
      this.problems.push(`${at}: there is no '${name}' among the nodes. ${hint(name, names) ?? known}`)
    }
    return found
  }

  async #items(at: string, given: unknown): Promise<readonly Item[]> {
    const items: Item[] = []
    for (const [index, one] of this.#list(at, given ?? []).entries()) {
      const item = await this.#item(`${at}[${index}]`, one)
      if (item !== undefined) items.push(item)
    }
    return items
  }

  async #item(at: string, given: unknown): Promise<Item | undefined> {
    if (!isFields(given) || !isEntryLike(given)) return this.#made(at, given)
    this.#known(at, given, ['node', 'as', 'after'])
    const { as, after, node } = given
    if (as !== undefined && !isName(as)) this.problems.push(`${at}.as: ${JSON.stringify(as)} is not a name.`)
    if (after !== undefined && !(Array.isArray(after) && after.every((one) => typeof one === 'string')))
      this.problems.push(`${at}.after: give a list of names.`)
    const item = await this.#made(`${at}.node`, node)
    if (item === undefined) return undefined
    return {
      ...item,
      ...(typeof as === 'string' ? { as, name: as } : {}),
      ...(after === undefined ? {} : { after: after as readonly string[] }),
    }
  }

  async #made(at: string, given: unknown): Promise<Item | undefined> {
    if (isNode(given) || isDefinition(given)) return { name: nameOf(given), node: given }
    if (!isNodeConfig(given)) {
      this.problems.push(`${at}: this is no node. Give bash('id', …) or another one, a graph, or { kind, id, … }.`)
      return undefined
    }
    try {
      const node = await this.#factory.create(withDefaults(given, { dir: this.#dir, fields: this.#fields }))
      return { name: node.id, node }
    } catch (error) {
      this.#caught(at, error)
      return undefined
    }
  }

  #unique(items: readonly Item[]): void {
    for (const [index, { name }] of items.entries()) {
      if (!items.slice(0, index).some((one) => sameName(one.name, name))) continue
      this.problems.push(`the name '${name}' is used twice. Names are unique, and differ in more than case.`)
    }
  }

  #list(at: string, given: unknown): readonly unknown[] {
    if (Array.isArray(given)) return given as readonly unknown[]
    this.problems.push(`${at}: give a list.`)
    return []
  }

  #object(at: string, given: unknown): given is Readonly<Record<string, unknown>> {
    if (isFields(given)) return true
    this.problems.push(`${at}: give an object.`)
    return false
  }

  #known(at: string, given: object, known: readonly string[], what = 'field'): void {
    for (const name of Object.keys(given)) {
      if (known.includes(name)) continue
      const place = at === '' ? name : `${at}.${name}`
      this.problems.push(`${place}: there is no such ${what}. ${hint(name, known) ?? `Known: ${known.join(', ')}.`}`)
    }
  }

  /** What comes after something has to be in one session with it, and not also before it. */
  #order(sessions: readonly CheckedSession[], rest: readonly Item[]): void {
    for (const { name, nodes = [] } of plans(sessions, rest)) {
      const after = new Map((nodes as readonly Item[]).map((item) => [item.as ?? nameOf(item.node), item.after ?? []]))
      for (const [node, before] of after)
        for (const one of before)
          if (!after.has(one))
            this.problems.push(
              `session '${name}': '${node}' comes after '${one}', which is not in it. ${hint(one, [...after.keys()]) ?? ''}`.trim(),
            )
      const circle = [...after.keys()].find((node) => reaches(after, node, node))
      if (circle !== undefined) this.problems.push(`session '${name}': '${circle}' comes after itself.`)
    }
  }

  #caught(at: string, error: unknown): void {
    if (!isNerveError(error)) throw error
    this.problems.push(`${at}: ${error.message}`)
  }
}

interface CheckedSession {
  readonly name: string
  readonly tags: readonly string[]
  readonly items: readonly Item[]
  /** Those that are written in the session itself. */
  readonly own: readonly Item[]
}

/** What no session names is in the session `default`, beside what that one names. */
function plans(sessions: readonly CheckedSession[], rest: readonly Item[]): readonly SessionPlan[] {
  const there = sessions.some(({ name }) => name === DEFAULT_SESSION)
  const all = there || rest.length === 0 ? sessions : [...sessions, { name: DEFAULT_SESSION, tags: [], items: [] }]
  return all.map(({ name, tags, items }) => ({
    name,
    tags,
    nodes: (name === DEFAULT_SESSION ? [...items, ...rest] : items).map(({ name: _name, ...entry }) => entry),
  }))
}

function reaches(
  after: ReadonlyMap<string, readonly string[]>,
  from: string,
  to: string,
  seen = new Set<string>(),
): boolean {
  return (after.get(from) ?? []).some((one) => {
    if (one === to) return true
    if (seen.has(one)) return false
    seen.add(one)
    return reaches(after, one, to, seen)
  })
}

function isEntryLike(given: object): boolean {
  return 'node' in given && !isNode(given) && !isDefinition(given) && !('kind' in given)
}

function hint(word: string, known: readonly string[]): string | undefined {
  const meant = nearest(word, known)
  return meant === undefined ? undefined : `Did you mean '${meant}'?`
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

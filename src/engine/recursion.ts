/**
 * Definitions that run themselves by their names with no condition on the way: once started, they would never come to an end.
 * Found by what they say of themselves, without running them. An async function says nothing, so nothing is known of it.
 */
import type { AnyDefinition, AnyRunnable, Names } from './definition.ts'
import { isDefinition, isNode } from './run-node.ts'

/** Everything that is wrong with a definition, found without running it. */
export function problemsIn(definition: AnyDefinition, names: Names): readonly string[] {
  return [...(definition.check?.(names) ?? []), ...recursionIn(definition, names)]
}

/** The first cycle that is found, said so that it can be mended. Its own name means the definition itself. */
export function recursionIn(definition: AnyDefinition, names?: Names): readonly string[] {
  const cycle = new Search(definition, names).from({ definition, byName: false })
  if (cycle === undefined) return []
  const way = cycle.map((name) => `'${name}'`).join(' → ')
  return [`it would run for ever, with no condition on the way: ${way}. Give one of its steps a condition (when).`]
}

interface Stop {
  readonly definition: AnyDefinition
  /** How the one before it refers to it. */
  readonly byName: boolean
}

class Search {
  readonly #first: AnyDefinition
  readonly #names: Names | undefined
  readonly #way: Stop[] = []
  readonly #done = new Set<AnyDefinition>()

  constructor(first: AnyDefinition, names: Names | undefined) {
    this.#first = first
    this.#names = names
  }

  from(stop: Stop): readonly string[] | undefined {
    const { definition } = stop
    const at = this.#way.findIndex((one) => one.definition === definition)
    if (at !== -1) return this.#cycle(at, stop)
    if (this.#done.has(definition)) return undefined
    this.#way.push(stop)
    for (const next of definition.always?.() ?? []) {
      const meant = typeof next === 'string' ? this.#named(next) : next
      const found = isDefinition(meant) ? this.from({ definition: meant, byName: typeof next === 'string' }) : undefined
      if (found !== undefined) return found
    }
    this.#way.pop()
    this.#done.add(definition)
    return undefined
  }

  /** What contains itself without a name is found by its own check. */
  #cycle(at: number, back: Stop): readonly string[] | undefined {
    const round = [...this.#way.slice(at + 1), back]
    if (!round.some(({ byName }) => byName)) return undefined
    return [back, ...round].map(({ definition }) => definition.name)
  }

  #named(name: string): AnyRunnable | undefined {
    const known = this.#names?.get(name)
    return name === this.#first.name && !isNode(known) ? this.#first : known
  }
}

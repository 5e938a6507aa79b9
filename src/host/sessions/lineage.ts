/** Where copies come from. */

export interface Lineage {
  readonly forkedFrom: string
  /** When it was copied (milliseconds since the epoch). */
  readonly forkedAt: number
  /** 1 for a copy, 2 for a copy of a copy. */
  readonly depth: number
}

export interface ForkTree extends Partial<Lineage> {
  readonly name: string
  readonly kind: string
  /** Its copies, in the order in which they were made. */
  readonly forks: readonly ForkTree[]
}

interface Named {
  readonly name: string
  readonly kind: string
  readonly lineage?: Lineage
}

/** The copies below what they were made from. One whose origin is no longer here stands at the top, with its lineage. */
export function forkTrees(all: Iterable<Named>): readonly ForkTree[] {
  const list = [...all]
  const names = new Set(list.map(({ name }) => name))
  const below = Map.groupBy(list, ({ lineage }) =>
    lineage !== undefined && names.has(lineage.forkedFrom) ? lineage.forkedFrom : '',
  )
  const grow = ({ name, kind, lineage }: Named): ForkTree => ({
    name,
    kind,
    ...lineage,
    forks: (below.get(name) ?? []).map(grow),
  })
  return (below.get('') ?? []).map(grow)
}

/**
 * What is known by name: nodes, graphs and workflows, with ids that are unique across all of them. Runs keep the names
 * that they were loaded with: a reload swaps the whole table and never changes one that a run holds.
 */
import { resolve } from 'node:path'
import { NerveError } from '../base/nerve-error.ts'
import type { AnyRunnable, Names } from '../engine/definition.ts'
import { isDefinition, isNode } from '../engine/run-node.ts'

export interface Registry {
  /** The table as it is now. It never changes; the next change makes another. */
  readonly names: Names
  /** Adds nodes and definitions. A name that is taken by something else is an error, and then nothing is added. */
  add(...more: readonly AnyRunnable[]): void
  /** Adds, or puts in the place of what has the same name and is of the same kind: newer code. */
  replace(...more: readonly AnyRunnable[]): void
  remove(name: string): boolean
  /** The definitions and nodes that the files of a folder export (.ts, .js, .yaml, .yml, .json), now and on `reload`. */
  load(folder: string): Promise<readonly string[]>
  /** Reads every loaded folder again. When a file does not load, everything stays as it was. */
  reload(): Promise<readonly string[]>
}

export function createRegistry(...first: readonly AnyRunnable[]): Registry {
  let table: ReadonlyMap<string, AnyRunnable> = new Map()
  const folders = new Set<string>()
  let fromFolders: readonly string[] = []
  let reading: Promise<unknown> = Promise.resolve()
  const put = (more: readonly AnyRunnable[], replacing: boolean): void => {
    if (more.every((one) => table.get(nameOf(one)) === one)) return
    table = merged(table, more, (there, one) => replacing && there.kind === one.kind)
  }
  const read = async (wanted: Iterable<string>): Promise<readonly string[]> => {
    const { loadFolder } = await import('./definition-folder.ts')
    const found: AnyRunnable[] = []
    for (const folder of wanted) found.push(...(await loadFolder(folder)))
    table = merged(new Map([...table].filter(([name]) => !fromFolders.includes(name))), found, () => false)
    fromFolders = [...new Set(found.map(nameOf))]
    return fromFolders
  }
  /** One after the other: each starts from what the one before left. */
  const inTurn = (work: () => Promise<readonly string[]>): Promise<readonly string[]> => {
    const result = reading.then(work)
    // Whoever asked for it hears that it failed.
    reading = result.catch(() => undefined)
    return result
  }
  put(first, false)
  return {
    get names() {
      return table
    },
    add: (...more) => put(more, false),
    replace: (...more) => put(more, true),
    remove(name) {
      const next = new Map(table)
      const had = next.delete(name)
      table = next
      return had
    },
    load: (folder) =>
      inTurn(async () => {
        const path = resolve(folder)
        const names = await read(new Set([...folders, path]))
        folders.add(path)
        return names
      }),
    reload: () => inTurn(() => read(folders)),
  }
}

/** Both together. A name that is taken by something else is an error, unless that may be replaced. */
function merged(
  table: ReadonlyMap<string, AnyRunnable>,
  more: readonly AnyRunnable[],
  mayReplace: (there: AnyRunnable, one: AnyRunnable) => boolean,
): ReadonlyMap<string, AnyRunnable> {
  const next = new Map(table)
  for (const one of more) {
    const name = nameOf(one)
    const there = next.get(name)
    if (there !== undefined && there !== one && !mayReplace(there, one)) throw taken(name, there)
    next.set(name, one)
  }
  return next
}

export function nameOf(one: AnyRunnable): string {
  if (isNode(one)) return one.id
  if (isDefinition(one)) return one.name
  throw new NerveError(
    'bad-definition',
    'Only nodes and definitions can be registered: defineNode(…), workflow(…), graph(…).',
  )
}

function taken(name: string, there: AnyRunnable): NerveError {
  return new NerveError(
    'bad-definition',
    `The name '${name}' is taken by a ${there.kind}. Names are unique across nodes, graphs and workflows.`,
    { data: { name } },
  )
}

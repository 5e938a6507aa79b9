/** The end of a host: what runs may finish, and what is left is let go of, so that the next host takes it up. */
import type { NerveError } from '../base/nerve-error.ts'
import { foldAll, statusOf } from '../journal/fold.ts'
import { headOf } from '../journal/head.ts'
import type { JournalStore } from '../journal/port.ts'
import type { Execution } from './execution.ts'
import { readEntries } from './reader.ts'
import type { Tree } from './tree.ts'

/** Holds trees back from starting anything, and waits until all of them rest, but not longer than this. */
export class Drain {
  readonly #trees: ReadonlyMap<string, Tree>
  readonly #rested = Promise.withResolvers<void>()

  constructor(trees: ReadonlyMap<string, Tree>) {
    this.#trees = trees
  }

  async wait(ms: number): Promise<void> {
    const timer = setTimeout(() => this.end(), ms)
    for (const tree of this.#trees.values()) {
      tree.setHold('closing', true)
      tree.look()
    }
    this.look()
    await this.#rested.promise
    clearTimeout(timer)
  }

  /** Whoever waits has waited long enough. */
  end(): void {
    this.#rested.resolve()
  }

  /** A tree has come to rest or to its end. */
  look(): void {
    if ([...this.#trees.values()].every((tree) => tree.idle)) this.end()
  }
}

/** Closes a tree. True when its claim is to be given up. */
export function leave(tree: Tree, error: NerveError, isDraining: boolean): boolean {
  const rests = tree.idle && !isDraining
  const waits = mayShowWaiting(tree.rootExecution)
  tree.close(error)
  // One that lists show as waiting and that has work left stays with this host, who is known to be gone: else nobody would take it up.
  return rests || !waits
}

/** Whether lists may say that it waits. They say so too while all of its children wait, and are a moment behind. */
function mayShowWaiting(root: Execution | undefined): boolean {
  if (root === undefined) return false
  const { shown, state } = root
  return (shown ?? statusOf(state)) === 'waiting' || (shown === undefined && state.children.size > 0)
}

/**
 * Lets go of a tree whose store has failed, if it takes that: then others can take it up before this process ends. Lists are a moment
 * behind, and one that they show as waiting would be left as it is, so they are told first how far its journal goes.
 */
export async function giveUp({ root, epoch }: Tree, store: JournalStore, host: string): Promise<void> {
  const entries = await readEntries(store, root)
  const head = headOf(foldAll(root, entries))
  if (entries.length > 0) await store.append([{ run: root, epoch, rows: [], head }], 'process')
  await store.release(root, host)
}

const LOAD_MS = 1_000

/** Waits for runs that are being taken, but not for a file that takes its time to load. */
export async function loaded(...loading: readonly ReadonlyMap<string, Promise<unknown>>[]): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, LOAD_MS)
  await Promise.race([Promise.allSettled(loading.flatMap((some) => [...some.values()])), late])
  clearTimeout(timer)
}

/**
 * Commands that other processes posted to runs of this host. Each is begun as soon as it is found, in the order in which they
 * were posted, and none waits for another: one may have to wait for a replay, or for a schema that looks at its answer.
 */
import { errorData, isNerveError } from '../base/nerve-error.ts'
import type { Command } from '../journal/port.ts'
import { performHere, type RunCommand } from './commands.ts'
import type { Engine } from './engine.ts'
import type { Tree } from './tree.ts'

export class Mailbox {
  readonly #engine: Engine
  readonly #onProblem: (error: unknown) => void
  readonly #begun = new Set<number>()
  /** A list that was asked for before they were settled still has them. */
  readonly #done = new Set<number>()

  constructor(engine: Engine, onProblem: (error: unknown) => void) {
    this.#engine = engine
    this.#onProblem = onProblem
  }

  /** Begins what has been posted since the last look. */
  async look(): Promise<void> {
    const { store, ownership } = this.#engine
    for (const id of this.#done) this.#begun.delete(id)
    this.#done.clear()
    for (const posted of await store.commands(ownership.host)) {
      // A run that was parked meanwhile belongs to nobody: whoever posted this sees that and takes it.
      const tree = this.#engine.live(posted.root)
      if (tree === undefined || this.#begun.has(posted.id)) continue
      this.#begun.add(posted.id)
      this.#perform(posted, tree)
        .catch(this.#onProblem)
        .finally(() => this.#done.add(posted.id))
    }
  }

  async #perform(posted: Command, tree: Tree): Promise<void> {
    try {
      await performHere(this.#engine, posted, JSON.parse(posted.body) as RunCommand)
    } catch (error) {
      // A run that was lost is not this process's to speak for.
      if (tree.lost !== undefined || isNerveError(error, 'host-closed')) return
      await this.#engine.store.settle(posted.id, JSON.stringify({ error: errorData(error) }))
    }
  }
}

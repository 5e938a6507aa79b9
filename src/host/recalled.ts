/**
 * What sessions hold that are not open here, for runs that refer to it by name. The code for it is loaded when there is
 * such a session, so that hosts without any pay for one look at a folder.
 */
import type { AnyDefinition, Names } from '../engine/definition.ts'
import { isDefinition } from '../engine/run-node.ts'
import type { Host } from './host.ts'
import type { Recall } from './sessions/recall.ts'
import type { SessionPlan } from './sessions/session.ts'
import { sessionFolder } from './sessions/session-folder.ts'

export class Recalled {
  readonly #plans: readonly SessionPlan[]
  #recall: Recall | undefined
  #stamp: number | undefined
  #looking: Promise<void> = Promise.resolve()

  constructor(plans: readonly SessionPlan[]) {
    this.#plans = plans
  }

  /** Looks whether there are other sessions than before, unless it is known that a definition needs none. */
  async look(host: Host, definition?: AnyDefinition, known: Names = host.registry.names): Promise<void> {
    const stamp = host.dir === undefined ? undefined : changed(sessionFolder(host.dir))
    if (this.#plans.length === 0 && stamp === undefined) return
    if (definition !== undefined && isComplete(definition, known)) return
    if (stamp !== this.#stamp || this.#recall === undefined || this.#recall.hasProblems) {
      this.#stamp = stamp
      // One after the other: each starts from what the one before found. Who asked for that heard that it failed.
      this.#looking = this.#looking.catch(() => undefined).then(() => this.#refresh(host))
    }
    await this.#looking
  }

  async #refresh(host: Host): Promise<void> {
    const { Recall } = await import('./sessions/recall.ts')
    this.#recall ??= new Recall(host, this.#plans)
    await this.#recall.refresh()
  }

  /** What is known by name, and behind it what sessions hold. */
  behind(known: Names): Names {
    return this.#recall?.behind(known) ?? known
  }

  /** The definition that a recorded run was started with, when that was something sent to a session. */
  sending(name: string): AnyDefinition | undefined {
    return this.#recall?.sending(name)
  }

  /** Refuses a definition that refers to something in a session that cannot be opened, and says why it cannot. */
  check(definition: AnyDefinition, known: Names): void {
    this.#recall?.check(definition, known)
  }

  async close(): Promise<void> {
    await this.#recall?.close()
  }
}

/** When something in the folder last changed; undefined when there is none. */
function changed(folder: string): number | undefined {
  // Not imported: that would load more of it than everybody needs.
  return process.getBuiltinModule('node:fs').statSync(folder, { throwIfNoEntry: false })?.mtimeMs
}

/** True when everything that it refers to is known. What an async function refers to shows only when it runs. */
function isComplete(definition: AnyDefinition, names: Names, seen = new Set<AnyDefinition>()): boolean {
  if (seen.has(definition)) return true
  seen.add(definition)
  if (definition.inner === undefined) return false
  return definition.inner().every((one) => {
    const meant = typeof one === 'string' ? names.get(one) : one
    return isDefinition(meant) ? isComplete(meant, names, seen) : meant !== undefined
  })
}

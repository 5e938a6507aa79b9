/** Looks for what other processes wrote into the journals of a project: the bus of this process does not hear of that. */
import { isNerveError } from '../../base/nerve-error.ts'
import { isLive } from '../../engine/feed.ts'
import type { Handle } from '../handle.ts'
import type { Host } from '../host.ts'

const POLL_MS = 500
/** How long after its time an event may be committed: a process may wait for the database, or be busy with something else. */
const LATE_MS = 60_000

export interface ForeignRunsOptions {
  /** There is more of a run than up to this event, which whoever reads has been told of. */
  readonly moved: (run: string, after: number) => void
  readonly onProblem: (error: unknown) => void
}

export class ForeignRuns {
  readonly #host: Host
  readonly #options: ForeignRunsOptions
  /** How far each run was that had moved since `#since`. */
  #known: ReadonlyMap<string, number> = new Map()
  #since = 0
  #timer: NodeJS.Timeout | undefined
  #changes: number | undefined
  #looked = 0
  #stopped = false

  /** What is there now is not told of: whoever begins to read looks at the journals. */
  constructor(host: Host, options: ForeignRunsOptions) {
    this.#host = host
    this.#options = options
    void this.#poll()
  }

  /** Everything that others wrote before this time is known to whoever reads; 0 before the first look. */
  get looked(): number {
    return this.#looked
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  async #poll(): Promise<void> {
    try {
      const began = Date.now()
      // Where nobody else writes, a look costs nothing, however many runs there are.
      const changes = this.#host.changes()
      if (changes !== this.#changes) await this.#look(began)
      this.#changes = changes
      this.#looked = began
    } catch (error) {
      // The readers go on with what the bus says, and the next look may succeed.
      if (!this.#stopped) this.#options.onProblem(error)
    }
    if (!this.#stopped) this.#timer = setTimeout(() => void this.#poll(), POLL_MS)
  }

  /** Who drove a run that has ended cannot be told any more, so it may be one of ours: then nothing of it is new. */
  async #look(began: number): Promise<void> {
    const movedSince = (this.#looked === 0 ? began : Math.min(began, this.#looked)) - LATE_MS
    const known = new Map<string, number>()
    for (const { run, owner } of await this.#host.runs({ children: true, movedSince })) {
      if (owner === this.#host.id) continue
      const { after, last } = await this.#read(run)
      known.set(run, last)
      if (last > after && this.#changes !== undefined) this.#options.moved(run, after)
    }
    this.#known = known
    this.#since = movedSince
  }

  /** One that was not among those that moved, the last time, was known up to that time. */
  async #read(run: string): Promise<{ readonly after: number; readonly last: number }> {
    const known = this.#known.get(run)
    const handle = await handleOf(this.#host, run)
    let [after, last] = [known ?? 0, known ?? 0]
    for await (const item of handle?.events({ after, once: true }) ?? []) {
      if (isLive(item)) continue
      last = item.seq
      if (known === undefined && item.time < this.#since) after = item.seq
    }
    return { after, last }
  }
}

/** The run in hand; undefined when it was removed. */
export async function handleOf(host: Host, run: string): Promise<Handle | undefined> {
  try {
    return await host.handle(run)
  } catch (error) {
    if (isNerveError(error, 'not-found')) return undefined
    throw error
  }
}

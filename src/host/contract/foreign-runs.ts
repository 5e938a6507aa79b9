/** Looks for what other processes wrote into the journals of a project: the bus of this process does not hear of that. */
import { isNerveError } from '../../base/nerve-error.ts'
import { isLive } from '../../engine/feed.ts'
import { isEnded } from '../../journal/events.ts'
import type { RunRow } from '../../projections/runs.ts'
import type { Handle } from '../handle.ts'
import type { Host } from '../host.ts'

const POLL_MS = 500
const NEWEST = 200
const REMEMBERED = 4_000
const OPEN = ['queued', 'running', 'waiting', 'paused', 'exhausted'] as const

interface Known {
  readonly seq: number
  readonly updated: number
}

export interface ForeignRunsOptions {
  readonly moved: (run: string) => void
  readonly onProblem: (error: unknown) => void
}

export class ForeignRuns {
  readonly #host: Host
  readonly #options: ForeignRunsOptions
  readonly #open = new Map<string, Known>()
  readonly #over = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #looked = 0
  #stopped = false

  constructor(host: Host, options: ForeignRunsOptions) {
    this.#host = host
    this.#options = options
    this.#arm()
  }

  /** Everything that others wrote before this time has been told of; 0 before the first look. */
  get looked(): number {
    return this.#looked
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  #arm(): void {
    if (!this.#stopped) this.#timer = setTimeout(() => void this.#poll(), POLL_MS)
  }

  async #poll(): Promise<void> {
    try {
      const began = Date.now()
      const open = await this.#host.runs({ children: true, status: OPEN })
      const there = new Set(open.map(({ run }) => run))
      for (const row of open) if (row.owner !== this.#host.id && this.#mayHaveMoved(row)) await this.#look(row)
      for (const run of this.#open.keys())
        if (!there.has(run)) await this.#look({ run, status: 'completed', updated: 0 })
      for (const row of await this.#endedLately()) await this.#look(row)
      this.#looked = began
    } catch (error) {
      // The readers go on with what the bus says, and the next look may succeed.
      if (!this.#stopped) this.#options.onProblem(error)
    }
    this.#arm()
  }

  /** What nobody drives moves only when somebody takes it, and then its row changes too. */
  #mayHaveMoved({ run, owner, updated }: RunRow): boolean {
    return owner !== undefined || this.#open.get(run)?.updated !== updated
  }

  /** Who drove a run that has ended cannot be told any more, so it may be one of ours: then nothing of it is new. */
  async #endedLately(): Promise<readonly RunRow[]> {
    for (let limit = NEWEST; ; limit *= 4) {
      const newest = await this.#host.runs({ children: true, limit })
      const oldest = newest.at(-1)
      const whole = newest.length < limit || this.#looked === 0 || (oldest?.created ?? 0) < this.#looked
      if (whole) return newest.filter(({ run, status }) => isEnded(status) && !this.#over.has(run))
    }
  }

  async #look({ run, status, updated }: Pick<RunRow, 'run' | 'status' | 'updated'>): Promise<void> {
    const known = this.#open.get(run)?.seq
    const handle = await handleOf(this.#host, run)
    let seq = known ?? 0
    if (handle !== undefined)
      for await (const item of handle.events({ after: seq, once: true })) if (!isLive(item)) seq = item.seq
    if (seq !== known) this.#options.moved(run)
    if (handle !== undefined && !isEnded(status)) this.#open.set(run, { seq, updated })
    else {
      this.#open.delete(run)
      this.#over.add(run)
      for (const oldest of this.#over) {
        if (this.#over.size <= REMEMBERED) break
        this.#over.delete(oldest)
      }
    }
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

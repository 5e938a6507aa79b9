/** Who waits for a run in this process: for its end, for its rest, or for its trouble. */
import type { NerveError } from '../base/nerve-error.ts'
import type { RunState } from '../journal/run-state.ts'

interface Watcher {
  readonly ended?: (state: RunState) => void
  /** True when that was what the watcher waited for. */
  readonly rested?: (state: RunState) => boolean
  readonly failed: (error: NerveError) => void
}

export class Watchers {
  readonly #of = new Map<string, Set<Watcher>>()
  /** Called when the first watcher comes and when the last one goes. */
  onWatching: (watching: boolean) => void = () => undefined
  /** Called when somebody begins to wait for the end of a run, or for its rest. */
  onWaiting: () => void = () => undefined

  /** Resolves with the state in which a run ended. Rejects when this process can no longer tell. */
  end(run: string): Promise<RunState> {
    return new Promise((resolve, reject) => this.#add(run, { ended: resolve, failed: reject }))
  }

  /** As `end`, and asks whether a rest is the end of the waiting too. */
  endOr(run: string, rested: (state: RunState, reject: (error: NerveError) => void) => boolean): Promise<RunState> {
    return new Promise((resolve, reject) => {
      this.#add(run, { ended: resolve, rested: (state) => rested(state, reject), failed: reject })
    })
  }

  /** Resolves when a run has ended or rests: it waits, is paused, or has spent its budget. */
  rest(run: string): Promise<RunState> {
    return new Promise((resolve, reject) => {
      const rested = (state: RunState): boolean => {
        resolve(state)
        return true
      }
      this.#add(run, { ended: resolve, rested, failed: reject })
    })
  }

  onFailure(run: string, failed: (error: NerveError) => void): () => void {
    const watcher: Watcher = { failed }
    this.#add(run, watcher)
    return () => {
      const watchers = this.#of.get(run)
      watchers?.delete(watcher)
      if (watchers?.size === 0) this.#forget(run)
    }
  }

  /** Runs that somebody waits for. */
  get watched(): Iterable<string> {
    return this.#of.keys()
  }

  ended(run: string, state: RunState): void {
    this.#tell(run, (watcher) => {
      watcher.ended?.(state)
      return true
    })
  }

  rested(run: string, state: RunState): void {
    this.#tell(run, (watcher) => watcher.rested?.(state) === true)
  }

  failed(run: string, error: NerveError): void {
    this.#tell(run, (watcher) => {
      watcher.failed(error)
      return true
    })
  }

  close(error: NerveError): void {
    for (const run of [...this.#of.keys()]) this.failed(run, error)
  }

  #add(run: string, watcher: Watcher): void {
    const watchers = this.#of.get(run) ?? new Set()
    watchers.add(watcher)
    this.#of.set(run, watchers)
    if (this.#of.size === 1 && watchers.size === 1) this.onWatching(true)
    if (watcher.ended !== undefined) this.onWaiting()
  }

  #forget(run: string): void {
    this.#of.delete(run)
    if (this.#of.size === 0) this.onWatching(false)
  }

  /** Tells every watcher; those for which `tell` returns true are done. */
  #tell(run: string, tell: (watcher: Watcher) => boolean): void {
    const watchers = this.#of.get(run)
    if (watchers === undefined) return
    for (const watcher of [...watchers]) if (tell(watcher)) watchers.delete(watcher)
    if (watchers.size === 0) this.#forget(run)
  }
}

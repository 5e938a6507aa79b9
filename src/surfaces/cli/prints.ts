/** What the runs of one tree print, shown where it would be if they were in this process. */
import { isDaemon, type RunHost } from './run-host.ts'
import { pause } from './until-signal.ts'

const MOST_EARLY = 1_000
/** They come beside the events of the run, and the last of them may come a moment later. */
const LAST_MS = 50

export class Prints {
  readonly #over = new AbortController()
  readonly #runs = new Set<string>()
  /** Printed before it was known whose it is. */
  #early: { readonly run: string; readonly text: string }[] = []
  #shown = false

  /** Listens from when it resolves: to be called before the run is set going. */
  static async open(host: RunHost): Promise<Prints> {
    const prints = new Prints()
    if (isDaemon(host)) await host.prints((run, text) => prints.#hear(run, text), prints.#over.signal)
    return prints
  }

  /** A run of the tree. */
  add(run: string): void {
    if (this.#runs.has(run)) return
    this.#runs.add(run)
    const early = this.#early.filter((one) => one.run === run)
    this.#early = this.#early.filter((one) => one.run !== run)
    for (const { text } of early) this.#show(text)
  }

  async close(): Promise<void> {
    if (this.#shown) await pause(LAST_MS, this.#over.signal)
    this.#over.abort()
  }

  #hear(run: string, text: string): void {
    if (this.#runs.has(run)) this.#show(text)
    else if (this.#early.length < MOST_EARLY) this.#early.push({ run, text })
  }

  /** Through stdout as it is for the code of workflows: beside a live view, and with --json on stderr. */
  #show(text: string): void {
    this.#shown = true
    process.stdout.write(text)
  }
}

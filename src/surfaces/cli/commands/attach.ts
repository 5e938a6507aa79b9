/**
 * `nerve attach`: watches a run that another process drives, and answers it. Only an answer changes the run; leaving does
 * not. When nobody drives the run, the answer takes it into this process.
 */
import { isLive, type Host, type RunEvent, type RunRow } from '../../../host/api.ts'
import { Desk } from '../desk.ts'
import type { Invocation } from '../dispatch.ts'
import { driveRecorded } from '../drive-command.ts'
import { EXIT } from '../exit-code.ts'
import { outcomeOf, report } from '../outcome.ts'
import type { Output } from '../output.ts'
import { Progress } from '../progress.ts'
import { forDriving, openHost, withRun } from '../project.ts'
import { readKeys } from '../read-keys.ts'
import { pause, untilSignal, type Watching } from '../until-signal.ts'
import { createView, type View } from '../view.ts'

const LOOK_MS = 200
/** So many looks in a row nobody drives the run: one may fall between two owners. */
const ENOUGH_LOOKS = 3

type End = 'ended' | 'rests' | 'mine' | 'left'

export function run({ args, out, dir }: Invocation): Promise<number> {
  // An answer may take the run into this process, which then needs what the project file says.
  const open = out.interactive ? forDriving(out) : openHost
  return withRun(dir, args.words[0] ?? '', (host, row) => attach(host, out, row), open)
}

async function attach(host: Host, out: Output, row: RunRow): Promise<number> {
  const watching = untilSignal()
  // Who only watches leaves with whoever reads it.
  process.stdout.once('error', watching.leave)
  const progress = new Progress()
  const view = await createView(out, progress, watching.leave)
  const attached = new Attached(host, { out, progress, view, watching })
  let end: End
  try {
    end = await attached.until(row.root)
  } finally {
    attached.close()
  }
  if (end === 'mine') return driveRecorded(host, out, row, async () => undefined)
  if (end === 'left') {
    out.data({ type: 'left', run: row.root })
    out.line(`${row.definition} ${row.root} goes on. Come back: nerve attach ${row.root}`)
    return EXIT.done
  }
  const rows = await host.runs({ root: row.root, children: true })
  const now = rows.find(({ run: id }) => id === row.root) ?? row
  return report(out, outcomeOf(now, rows, { end: progress.ends.get(now.run), plan: progress.plans.get(now.run) }))
}

interface Parts {
  readonly out: Output
  readonly progress: Progress
  readonly view: View
  readonly watching: Watching
}

class Attached {
  readonly #host: Host
  readonly #parts: Parts
  readonly #desk: Desk
  readonly #stopKeys: () => void
  readonly #watched = new Set<string>()
  readonly #failed = Promise.withResolvers<never>()
  readonly #over = new AbortController()
  #ended = false

  constructor(host: Host, parts: Parts) {
    const { out, progress, view, watching } = parts
    this.#host = host
    this.#parts = parts
    this.#desk = new Desk(host, progress, { view, yes: false, interactive: out.interactive })
    // While a question is asked, its own reader hears the keys.
    this.#stopKeys = out.interactive
      ? readKeys(({ name, ctrl }) => {
          if (ctrl === true ? name === 'c' || name === 'd' : name === 'q') watching.leave()
        })
      : () => undefined
    // It is heard where it is waited for, which may be later.
    this.#failed.promise.catch(() => undefined)
  }

  async until(root: string): Promise<End> {
    const { signal } = this.#parts.watching
    void this.#watch(root).then(() => (this.#ended = true), this.#failed.reject)
    for (let alone = 0; ;) {
      if (this.#ended) return 'ended'
      if (signal.aborted) return 'left'
      const rows = await this.#host.runs({ root, children: true })
      if (rows.some(({ owner }) => owner === this.#host.id)) return 'mine'
      alone = this.#ended || rows.some(({ owner }) => owner !== undefined) || this.#asks(rows) ? 0 : alone + 1
      if (alone >= ENOUGH_LOOKS) return 'rests'
      await Promise.race([pause(LOOK_MS, signal), this.#failed.promise])
    }
  }

  close(): void {
    const { view, watching } = this.#parts
    this.#over.abort()
    this.#desk.close()
    this.#stopKeys()
    view.close()
    watching.release()
  }

  /** Somebody here can answer what it waits for. */
  #asks(rows: readonly RunRow[]): boolean {
    return rows.some(({ status, questions }) => status === 'waiting' && questions.some((one) => this.#desk.takes(one)))
  }

  async #watch(run: string): Promise<void> {
    if (this.#watched.has(run)) return
    this.#watched.add(run)
    const handle = await this.#host.handle(run)
    for await (const item of handle.events({ signal: this.#over.signal })) if (!isLive(item)) this.#hear(item)
  }

  #hear(event: RunEvent): void {
    const { progress, view } = this.#parts
    if (event.type === 'child-started') this.#watch(event.child).catch(this.#failed.reject)
    if (!progress.hear(event)) return
    view.hear(event)
    if (event.type.startsWith('question-')) this.#desk.look()
  }
}

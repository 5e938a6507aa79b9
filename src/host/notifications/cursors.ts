/**
 * How far each receiver of notifications has come, in a file: what was delivered before the process ended is not delivered
 * again, what was not is.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'
import { makeOwnFolder } from '../../base/own-folder.ts'

const FORMAT = 1
/** After so long, a place that no delivery made worth writing is written too: there is less to read again. */
const WRITE_MS = 10_000

export class Cursors {
  readonly #file: string
  readonly #places: Map<string, string>
  #written = 0
  #changed = false

  /** Only these receivers are kept: one that comes back later begins anew. */
  constructor(file: string, receivers: readonly string[], onProblem: (error: unknown) => void) {
    this.#file = file
    const known = readPlaces(file, onProblem)
    this.#places = new Map([...known].filter(([receiver]) => receivers.includes(receiver)))
    this.#changed = this.#places.size < known.size
    this.write()
  }

  /** Where a receiver goes on; undefined when it begins now. */
  get(receiver: string): string | undefined {
    return this.#places.get(receiver)
  }

  /** `atOnce`: something was delivered. */
  reach(receiver: string, place: string, atOnce: boolean): void {
    const first = !this.#places.has(receiver)
    this.#places.set(receiver, place)
    this.#changed = true
    if (atOnce || first || Date.now() - this.#written > WRITE_MS) this.write()
  }

  forget(receiver: string): void {
    this.#places.delete(receiver)
  }

  write(): void {
    if (!this.#changed) return
    makeOwnFolder(dirname(this.#file))
    const draft = `${this.#file}.${process.pid}.tmp`
    const text = JSON.stringify({ format: FORMAT, places: Object.fromEntries(this.#places) })
    writeFileSync(draft, `${text}\n`, { mode: 0o600 })
    renameSync(draft, this.#file)
    this.#written = Date.now()
    this.#changed = false
  }
}

function readPlaces(file: string, onProblem: (error: unknown) => void): ReadonlyMap<string, string> {
  try {
    return new Map(placesIn(readFileSync(file, 'utf8')))
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return new Map()
    const why = `${file} cannot be read: ${(cause as Error).message}`
    onProblem(new NerveError('bad-file', `${why}. Notifications begin with what happens from now on.`, { cause }))
    return new Map()
  }
}

function placesIn(text: string): readonly [string, string][] {
  const { format, places } = (JSON.parse(text) ?? {}) as { readonly format?: unknown; readonly places?: unknown }
  const isKnown = format === FORMAT && typeof places === 'object' && places !== null
  const all: readonly [string, unknown][] = isKnown ? Object.entries(places) : []
  if (isKnown && all.every((one): one is [string, string] => typeof one[1] === 'string')) return all
  throw new Error('it has another form')
}

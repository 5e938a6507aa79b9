/**
 * The log of exchanges: who asked what, what came of it, what it cost. One JSON line for each, in files of one gateway each, so that
 * several can write into one folder. Bodies are cut and have no secrets; headers are not kept at all.
 */
import { appendFile, mkdir, readFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { newId } from '../base/ids.ts'
import { createRedactor } from '../base/redact.ts'
import type { FailureKind, ModelUsage, WireFormat } from './exchange.ts'

export interface LoggedExchange {
  readonly id: string
  /** When it came, in milliseconds since 1970. */
  readonly at: number
  readonly durationMs: number
  /** How long until the first byte of the answer. */
  readonly firstByteMs?: number
  readonly format: WireFormat
  readonly backend?: string
  /** What the client asked for, and what was really asked. */
  readonly model?: string
  readonly askedModel?: string
  readonly stream?: boolean
  readonly status: number
  readonly failure?: { readonly kind: FailureKind; readonly message: string }
  /** The client left before the end. */
  readonly aborted?: true
  readonly tries?: number
  readonly run?: string
  readonly path?: string
  readonly client?: string
  readonly usage?: ModelUsage
  /** The usage is counted by the gateway, not told by the provider. */
  readonly estimated?: true
  /** Null: nobody knows what the model costs. */
  readonly usd?: number | null
  /** Beginnings of the bodies. */
  readonly request?: string
  readonly reply?: unknown
}

export interface ExchangeLog {
  /** The newest ones, oldest first. */
  readonly recent: readonly LoggedExchange[]
  /** Resolves when everything is written. */
  flush(): Promise<void>
}

export interface LogOptions {
  readonly folder?: string
  /** How many are kept in memory (100). */
  readonly keep?: number
  /** Hears of a file that cannot be written; the log goes on in memory. */
  readonly onProblem?: (error: unknown) => void
}

const LONGEST_BODY = 32_768
const LARGEST_FILE = 16 * 1_048_576
const MOST_FILES = 8
const FILE = /^exchanges-[0-9a-z]{16}\.jsonl$/

/** How much of a body is collected: a secret at the cut must be seen whole to be found. */
export const COLLECTED_BODY = LONGEST_BODY + 4_096

/** An exchange that is put into words when somebody wants to read it: not while a client waits. */
type Told = () => LoggedExchange

export class ExchangeLogger implements ExchangeLog {
  readonly #options: LogOptions
  readonly #redactor = createRedactor({ longest: LONGEST_BODY })
  readonly #now: () => number
  readonly #recent: Told[] = []
  #writing: Promise<void> | undefined
  #waiting: Told[] = []
  #file = ''
  #size = Infinity

  constructor(options: LogOptions, now: () => number) {
    this.#options = options
    this.#now = now
  }

  get recent(): readonly LoggedExchange[] {
    return this.#recent.map((tell) => tell())
  }

  add(exchange: Told): void {
    let told: LoggedExchange | undefined
    const tell = (): LoggedExchange => (told ??= this.#clean(exchange()))
    this.#recent.push(tell)
    if (this.#recent.length > (this.#options.keep ?? 100)) this.#recent.shift()
    const { folder } = this.#options
    if (folder === undefined) return
    this.#waiting.push(tell)
    this.#writing ??= this.#writeAll(folder)
  }

  async flush(): Promise<void> {
    await this.#writing
  }

  async #writeAll(folder: string): Promise<void> {
    while (this.#waiting.length > 0) {
      await nextTurn()
      await this.#write(folder)
    }
    this.#writing = undefined
  }

  /** Everything that waits, in one write. */
  async #write(folder: string): Promise<void> {
    const lines = this.#waiting.map((tell) => `${JSON.stringify(tell())}\n`).join('')
    this.#waiting = []
    try {
      if (this.#size > LARGEST_FILE) await this.#open(folder)
      await appendFile(this.#file, lines, { mode: 0o600 })
      this.#size += lines.length
    } catch (error) {
      this.#options.onProblem?.(error)
    }
  }

  #clean({ request, reply, failure, ...rest }: LoggedExchange): LoggedExchange {
    return {
      ...rest,
      ...(failure === undefined ? {} : { failure: { ...failure, message: this.#redactor.text(failure.message) } }),
      ...(request === undefined ? {} : { request: this.#redactor.text(request) }),
      ...(reply === undefined ? {} : { reply: this.#redactor.value(reply) }),
    }
  }

  async #open(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const old = await logFiles(folder)
    for (const name of old.slice(0, Math.max(0, old.length - MOST_FILES + 1)))
      await rm(join(folder, name), { force: true })
    this.#file = join(folder, `exchanges-${newId(this.#now())}.jsonl`)
    this.#size = 0
  }
}

/** The names sort by time. */
async function logFiles(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names.filter((name) => FILE.test(name)).toSorted()
}

/** Everything that gateways have logged in a folder, oldest first. */
export async function readLog(folder: string): Promise<readonly LoggedExchange[]> {
  const found: LoggedExchange[] = []
  for (const name of await logFiles(folder)) {
    // The last line of a gateway that was killed may be half of one.
    for (const line of (await readFile(join(folder, name), 'utf8')).split('\n')) {
      const exchange = parsed(line)
      if (exchange !== undefined) found.push(exchange)
    }
  }
  return found.toSorted((one, two) => (one.id < two.id ? -1 : 1))
}

function parsed(line: string): LoggedExchange | undefined {
  try {
    return JSON.parse(line) as LoggedExchange
  } catch {
    return undefined
  }
}

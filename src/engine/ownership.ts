/** Who owns a run: hosts leave a sign of life, and a run of a dead host may be taken. */
import type { Clock } from '../base/clock.ts'
import { birthOf, isProcessAlive } from '../base/process-life.ts'
import type { HostRecord, JournalStore } from '../journal/port.ts'

const BEAT_MS = 5_000
/** How long a silent host on another machine counts as alive. */
const LEASE_MS = 30_000
/** How long a silent host counts as alive whose process is still there (busy, or asleep with its laptop). */
const LIVING_LEASE_MS = 300_000

export class Ownership {
  readonly host: string
  readonly #store: JournalStore
  readonly #clock: Clock
  readonly #sleeps = new Sleeps()
  #timer: NodeJS.Timeout | undefined

  constructor(host: string, store: JournalStore, clock: Clock) {
    this.host = host
    this.#store = store
    this.#clock = clock
  }

  /** Makes this host known, once, before it owns anything. */
  async announce(): Promise<void> {
    if (this.#timer !== undefined) return
    this.#timer = setInterval(() => void this.#beat().catch(() => undefined), BEAT_MS)
    this.#timer.unref()
    await this.#beat()
  }

  /** The hosts that are alive, by id: this one among them. */
  async living(): Promise<Set<string>> {
    const now = this.#clock.now()
    const heard = this.#sleeps.heardAt(now)
    const records = await this.#store.hosts()
    return new Set([this.host, ...records.filter((record) => isAlive(record, now, heard)).map((record) => record.host)])
  }

  async dead(): Promise<readonly string[]> {
    const living = await this.living()
    return (await this.#store.hosts()).map((record) => record.host).filter((host) => !living.has(host))
  }

  /**
   * When everybody elsewhere has either given a sign of life again or is dead: one that has just died, as in a container that
   * is started anew, still counts as alive. Undefined when there is nobody elsewhere.
   */
  async certainAt(): Promise<number | undefined> {
    const now = this.#clock.now()
    const silent = (await this.#store.hosts()).filter((record) => isElsewhere(record) && isAlive(record, now))
    if (silent.length === 0) return undefined
    return Math.min(now, Math.max(...silent.map((record) => record.beat))) + LEASE_MS
  }

  /** Takes a run tree unless a living host has it. */
  async claim(root: string): Promise<number | undefined> {
    await this.announce()
    // In this order: a host is known before it owns anything, so an owner who is not among the living is dead. One who
    // came between the two looks is not taken for dead.
    const seen = (await this.#store.find(root))?.owner?.host
    const living = await this.living()
    const isDead = (owner: string): boolean => owner === seen && !living.has(owner)
    return this.#store.claim(root, this.host, (owner) => owner === undefined || owner === this.host || isDead(owner))
  }

  async close(): Promise<void> {
    if (this.#timer === undefined) return
    clearInterval(this.#timer)
    await this.#store.forgetHost(this.host)
  }

  #beat(): Promise<void> {
    const { pid } = process
    return this.#store.beat({
      host: this.host,
      pid,
      machine: machineId(),
      birth: birthOf(pid) ?? '',
      beat: this.#clock.now(),
    })
  }
}

function isElsewhere(record: HostRecord): boolean {
  return record.machine !== machineId()
}

/** `heard` is when whoever lives on this machine had the chance to give a sign of it last. */
export function isAlive(record: HostRecord, now: number, heard = now): boolean {
  if (isElsewhere(record)) return now - record.beat < LEASE_MS
  if (!isProcessAlive(record.pid)) return false
  const birth = birthOf(record.pid)
  if (birth !== undefined && record.birth !== '' && birth !== record.birth) return false
  return heard - record.beat < LIVING_LEASE_MS
}

/**
 * A machine that wakes, or whose clock is set, finds all of its hosts silent for long, until each has had the time for a sign of
 * life. So they are judged by the time of a look that lies further back than that, as far as this process has looked before.
 */
class Sleeps {
  #earlier: number | undefined
  #last: { readonly at: number; readonly passed: number } | undefined

  heardAt(now: number): number {
    const passed = performance.now()
    if (this.#last === undefined || passed - this.#last.passed > BEAT_MS) {
      this.#earlier = this.#last?.at
      this.#last = { at: now, passed }
    }
    return this.#earlier ?? this.#last.at
  }
}

/** The one with which Linux starts has the same number everywhere. */
const FIRST_PID_SPACE = 'pid:[4026531836]'

let machine: string | undefined

/** Those for whom a number of a process means the same process. */
function machineId(): string {
  machine ??= [process.getBuiltinModule('node:os').hostname(), bootId(), ...pidSpace()].join('/')
  return machine
}

/** A container, or a sandbox, counts processes by itself. Everywhere else, hosts that know nothing of this are understood. */
function pidSpace(): readonly string[] {
  try {
    const space = process.getBuiltinModule('node:fs').readlinkSync('/proc/self/ns/pid')
    return space === FIRST_PID_SPACE ? [] : [space]
  } catch {
    return []
  }
}

/** The same until the machine is started again; empty where the system does not say. */
function bootId(): string {
  try {
    // Not an import: naming node:fs in one loads the streams and promises behind its exports too, at every start.
    return process.getBuiltinModule('node:fs').readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}

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
    const records = await this.#store.hosts()
    return new Set([this.host, ...records.filter((record) => isAlive(record, now)).map((record) => record.host)])
  }

  async dead(): Promise<readonly string[]> {
    const living = await this.living()
    return (await this.#store.hosts()).map((record) => record.host).filter((host) => !living.has(host))
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

export function isAlive(record: HostRecord, now: number): boolean {
  const silent = now - record.beat
  if (record.machine !== machineId()) return silent < LEASE_MS
  if (!isProcessAlive(record.pid)) return false
  const birth = birthOf(record.pid)
  if (birth !== undefined && record.birth !== '' && birth !== record.birth) return false
  return silent < LIVING_LEASE_MS
}

let machine: string | undefined

function machineId(): string {
  machine ??= `${process.getBuiltinModule('node:os').hostname()}/${bootId()}`
  return machine
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

/**
 * The journal in memory: the same port and the same suite, for tests and for runs that need not outlive the process.
 * Runs that have ended are forgotten, the oldest first, once there are more than KEPT_EVENTS events.
 */
import { NerveError } from '../base/nerve-error.ts'
import type { Row } from '../journal/codec.ts'
import { isEnded } from '../journal/events.ts'
import type {
  Append,
  AppendResult,
  Command,
  HeadFilter,
  HostRecord,
  JournalStore,
  OwnedHead,
  RunHead,
} from '../journal/port.ts'

const KEPT_EVENTS = 100_000

/** What came of a batch of one. */
const KEPT: readonly AppendResult[] = ['ok']
const FENCED: readonly AppendResult[] = ['fenced']

interface Kept {
  head: RunHead
  owner: string | undefined
  epoch: number
  readonly rows: Row[]
}

interface KeptCommand extends Command {
  result?: string
}

export class MemoryStore implements JournalStore {
  readonly #runs = new Map<string, Kept>()
  readonly #trees = new Map<string, Kept[]>()
  readonly #hosts = new Map<string, HostRecord>()
  readonly #commands = new Map<number, KeptCommand>()
  readonly #ended = new Set<string>()
  readonly #waking = new Set<Kept>()
  #events = 0
  #lastCommand = 0
  #version = 0

  append(batch: readonly Append[]): readonly AppendResult[] | Promise<readonly AppendResult[]> {
    try {
      // All is checked before anything is written: a batch that fails leaves nothing.
      for (const append of batch) this.#check(append)
    } catch (error) {
      return Promise.reject(error)
    }
    const only = batch[0]
    if (only === undefined || batch.length > 1) return batch.map((append) => this.#append(append))
    return this.#append(only) === 'ok' ? KEPT : FENCED
  }

  read(run: string, after: number, limit: number): Promise<readonly Row[]> {
    return Promise.resolve((this.#runs.get(run)?.rows ?? []).slice(after, after + limit))
  }

  heads(filter: HeadFilter): Promise<readonly OwnedHead[]> {
    const found = [...this.#runs.values()].filter((kept) => this.#fits(kept, filter))
    const ordered =
      filter.dueBy === undefined
        ? found.toReversed()
        : found.toSorted((a, b) => (a.head.wake ?? 0) - (b.head.wake ?? 0))
    return Promise.resolve(ordered.slice(0, filter.limit ?? ordered.length).map(owned))
  }

  find(id: string): Promise<OwnedHead | undefined> {
    const exact = this.#runs.get(id)
    if (exact !== undefined) return Promise.resolve(owned(exact))
    const like = [...this.#runs.values()].filter((kept) => kept.head.run.startsWith(id))
    return Promise.resolve(like.length === 1 ? owned(like[0] as Kept) : undefined)
  }

  claim(root: string, host: string, mayTake: (owner: string | undefined) => boolean): Promise<number | undefined> {
    const kept = this.#runs.get(root)
    if (kept === undefined || !mayTake(kept.owner)) return Promise.resolve(undefined)
    const epoch = kept.epoch + 1
    for (const one of this.#tree(root)) {
      one.owner = host
      one.epoch = epoch
    }
    return Promise.resolve(epoch)
  }

  release(root: string, host: string): Promise<void> {
    for (const one of this.#tree(root)) if (one.owner === host) one.owner = undefined
    return Promise.resolve()
  }

  beat(record: HostRecord): Promise<void> {
    this.#hosts.set(record.host, record)
    return Promise.resolve()
  }

  hosts(): Promise<readonly HostRecord[]> {
    return Promise.resolve([...this.#hosts.values()])
  }

  forgetHost(host: string): Promise<void> {
    this.#hosts.delete(host)
    return Promise.resolve()
  }

  post(command: Omit<Command, 'id'>): Promise<number> {
    this.#lastCommand += 1
    this.#version += 1
    this.#commands.set(this.#lastCommand, { ...command, id: this.#lastCommand })
    return Promise.resolve(this.#lastCommand)
  }

  commands(host: string | undefined): Promise<readonly Command[]> {
    const open = [...this.#commands.values()].filter((one) => one.result === undefined && this.#isTo(one, host))
    return Promise.resolve(open.map(({ id, root, run, body }) => ({ id, root, run, body })))
  }

  settle(command: number, result: string): Promise<void> {
    const kept = this.#commands.get(command)
    if (kept !== undefined) kept.result ??= result
    return Promise.resolve()
  }

  withdraw(command: number, owner: string | undefined): Promise<boolean> {
    const kept = this.#commands.get(command)
    if (kept === undefined || kept.result !== undefined || !this.#isTo(kept, owner)) return Promise.resolve(false)
    kept.result = '{"withdrawn":true}'
    return Promise.resolve(true)
  }

  result(command: number): Promise<string | undefined> {
    return Promise.resolve(this.#commands.get(command)?.result)
  }

  /** Hosts that share this store look when something was posted or a head has changed: the rest comes over their bus. */
  version(): number {
    return this.#version
  }

  nextWake(): Promise<number | undefined> {
    const times = [...this.#waking]
      .filter((kept) => kept.owner === undefined && !this.#resting(kept))
      .flatMap((kept) => (kept.head.wake === undefined ? [] : [kept.head.wake]))
    return Promise.resolve(times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b)))
  }

  remove(runs: readonly string[]): Promise<void> {
    for (const run of runs) {
      const kept = this.#runs.get(run)
      if (kept === undefined) continue
      this.#runs.delete(run)
      this.#ended.delete(run)
      this.#waking.delete(kept)
      this.#events -= kept.rows.length
      const rest = this.#tree(kept.head.root).filter((one) => one !== kept)
      if (rest.length === 0) this.#trees.delete(kept.head.root)
      else this.#trees.set(kept.head.root, rest)
      for (const command of [...this.#commands.values()]) if (command.run === run) this.#commands.delete(command.id)
    }
    return Promise.resolve()
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  #check(append: Append): void {
    const kept = this.#runs.get(append.run)
    if (append.create !== undefined && kept !== undefined) throw refusal(`run ${append.run} exists already`)
    if (kept === undefined ? append.create === undefined : kept.epoch !== append.epoch) return
    let last = kept?.rows.length ?? 0
    for (const row of append.rows) {
      if (row.seq !== last + 1) throw refusal(`run ${append.run}: event ${row.seq} follows ${last}`)
      last = row.seq
    }
  }

  #append(append: Append): AppendResult {
    const { head, create } = append
    let kept = this.#runs.get(append.run)
    if (create !== undefined && head !== undefined) {
      // A child may be created only by whoever owns its tree.
      if (head.run !== head.root && this.#runs.get(head.root)?.epoch !== append.epoch) return 'fenced'
      kept = { head, owner: create.host, epoch: append.epoch, rows: [] }
      this.#runs.set(append.run, kept)
      this.#tree(head.root).push(kept)
    }
    if (kept === undefined || kept.epoch !== append.epoch) return 'fenced'
    for (const row of append.rows) kept.rows.push(row)
    this.#events += append.rows.length
    if (head !== undefined) this.#setHead(kept, head)
    for (const done of append.settle ?? []) void this.settle(done.command, done.result)
    return 'ok'
  }

  #setHead(kept: Kept, head: RunHead): void {
    kept.head = head
    this.#version += 1
    if (head.wake === undefined) this.#waking.delete(kept)
    else this.#waking.add(kept)
    if (!isEnded(head.status) || head.run !== head.root) return
    this.#ended.add(head.run)
    for (const root of this.#ended) {
      if (this.#events <= KEPT_EVENTS || root === head.run) return
      void this.remove(this.#tree(root).map((one) => one.head.run))
    }
  }

  #isTo(command: Command, host: string | undefined): boolean {
    const root = this.#runs.get(command.root)
    return root !== undefined && root.owner === host
  }

  #tree(root: string): Kept[] {
    const found = this.#trees.get(root)
    if (found !== undefined) return found
    const made: Kept[] = []
    this.#trees.set(root, made)
    return made
  }

  #resting(kept: Kept): boolean {
    const status = this.#runs.get(kept.head.root)?.head.status
    return status === 'paused' || status === 'exhausted'
  }

  #fits(kept: Kept, filter: HeadFilter): boolean {
    const { head } = kept
    return (
      (filter.root === undefined || head.root === filter.root) &&
      (filter.status === undefined || filter.status.includes(head.status)) &&
      (filter.definition === undefined || head.definition === filter.definition) &&
      (filter.asking !== true || head.questions.length > 0) &&
      (filter.dueBy === undefined || (head.wake !== undefined && head.wake <= filter.dueBy && !this.#resting(kept))) &&
      (filter.updatedBefore === undefined || head.updated < filter.updatedBefore) &&
      (filter.movedSince === undefined || (kept.rows.at(-1)?.time ?? 0) >= filter.movedSince) &&
      (filter.roots !== true || head.run === head.root) &&
      (filter.owned !== true || kept.owner !== undefined)
    )
  }
}

function refusal(text: string): NerveError {
  return new NerveError('store-failed', `The store refused: ${text}. Nothing of this write was kept.`)
}

function owned(kept: Kept): OwnedHead {
  return {
    head: kept.head,
    owner: kept.owner === undefined ? undefined : { host: kept.owner, epoch: kept.epoch },
  }
}

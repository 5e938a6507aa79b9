/** Where the daemon of a project is, and what it leaves for those who look for it. */
import { createHash } from 'node:crypto'
import { lstatSync, readFileSync, renameSync, rmSync, statSync, writeFileSync, type Stats } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'
import { birthOf, isProcessAlive } from '../../base/process-life.ts'

/** What systems have room for in the path of a socket, macOS included. */
const LONGEST_SOCKET = 103

/** The type of live parts that are what a workflow printed. */
export const PRINTED = 'printed'

const LIVING_STATES: readonly unknown[] = ['starting', 'ready', 'busy', 'stopping']

export interface DaemonFiles {
  readonly folder: string
  /** Held by the daemon for as long as it lives. */
  readonly lock: string
  /** Who it is and where it listens. */
  readonly record: string
  /** The same of one that has the lock and cannot be asked yet: a run that it takes up may keep it from ever being. */
  readonly start: string
  readonly socket: string
  readonly log: string
}

/** What a daemon says of itself. */
export interface DaemonRecord {
  readonly pid: number
  /** Tells its process from a later one with the same number, where the system can. */
  readonly birth?: string
  /** The project folder. A record is copied with its folder, and is none of the copy's. */
  readonly dir?: string
  readonly version: string
  readonly socket: string
  /** The address of its HTTP port, when it has one. */
  readonly url?: string
  readonly started: number
  /** How it was started: one that takes its place is started in the same way. */
  readonly options?: readonly string[]
  /** Digests of variables of its environment on which agents and models depend. */
  readonly environment: EnvironmentMarks
  /** The digest of the project file that it has loaded. */
  readonly config?: string
}

export interface EnvironmentMarks {
  readonly salt: string
  readonly marks: Readonly<Record<string, string>>
}

export function daemonFiles(dir: string): DaemonFiles {
  const folder = join(dir, '.nerve')
  return {
    folder,
    lock: join(folder, 'server.lock'),
    record: join(folder, 'server.json'),
    start: join(folder, 'server.start.json'),
    socket: socketOf(dir, folder),
    log: join(folder, 'logs', 'server.log'),
  }
}

/** In the project, unless its path is longer than the path of a socket may be. */
function socketOf(dir: string, folder: string): string {
  const near = join(folder, 'nerve.sock')
  if (Buffer.byteLength(near) <= LONGEST_SOCKET) return near
  const mark = createHash('sha256').update(dir).digest('hex').slice(0, 16)
  return join(tmpdir(), `nerve-${process.getuid?.() ?? 'user'}`, `${mark}.sock`)
}

export function writeRecord(file: string, record: DaemonRecord): void {
  const draft = `${file}.${process.pid}.tmp`
  try {
    writeFileSync(draft, `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o600 })
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/** What another one has written stays. */
export function removeRecord(dir: string, { pid, started }: DaemonRecord): void {
  const there = readRecord(dir)
  if (there?.pid === pid && there.started === started) rmSync(daemonFiles(dir).record, { force: true })
}

/**
 * What the daemon that was here last said of itself; it may be dead. What cannot be read, as after a power cut, says nothing, and
 * the next daemon writes another.
 */
export function readRecord(dir: string): DaemonRecord | undefined {
  return readFrom(daemonFiles(dir).record, dir)
}

/** The daemon that starts here, and lives. */
export function readStart(dir: string): DaemonRecord | undefined {
  const start = readFrom(daemonFiles(dir).start, dir)
  return start !== undefined && isLiving(start) ? start : undefined
}

/** What people are told of it. */
export function startsStill({ pid }: DaemonRecord): string {
  return `The daemon (process ${pid}) has not come to the end of its start. If it does not: nerve server stop --force, and when a run keeps it from it: nerve cancel RUN --local`
}

function readFrom(file: string, dir: string): DaemonRecord | undefined {
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found === undefined) return undefined
  // Whoever could put a record here could make us talk to a host of theirs.
  const why = foreign(found)
  if (why !== undefined) throw new NerveError('not-allowed', `${file} ${why}`, { data: { reason: 'file' } })
  const record = parsed(file)
  return record === undefined || isOfAnother(record, dir) ? undefined : record
}

function foreign(found: Stats): string | undefined {
  if (found.isFile() && !isOwn(found.uid))
    return `belongs to another user (${found.uid}), whose daemon has the runs of this project. Do this as that user; or remove the file, if that daemon is gone.`
  return found.isFile() && (found.mode & 0o022) === 0 ? undefined : 'is not a file that only you can write. Remove it.'
}

function parsed(file: string): DaemonRecord | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return isRecord(value) ? value : undefined
  } catch (error) {
    // Removed in this moment, or cut short.
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function isRecord(value: unknown): value is DaemonRecord {
  const { pid, socket, version, started, options, environment } = (value ?? {}) as Partial<DaemonRecord>
  return (
    Number.isSafeInteger(pid) &&
    Number(pid) > 0 &&
    Number.isFinite(started) &&
    [socket, version, environment?.salt].every((one) => typeof one === 'string') &&
    typeof environment?.marks === 'object' &&
    environment.marks !== null &&
    (options === undefined || (Array.isArray(options) && options.every((one) => typeof one === 'string')))
  )
}

/** True for a folder that was copied with its record. One that was moved is still the same. */
function isOfAnother({ dir: from }: DaemonRecord, dir: string): boolean {
  const [there, here] = [from ?? dir, dir].map((path) => statSync(path, { throwIfNoEntry: false }))
  return there !== undefined && (there.dev !== here?.dev || there.ino !== here.ino)
}

/** Whether the process of a record lives: it may answer. */
export function isLiving({ pid, birth }: DaemonRecord): boolean {
  const now = birthOf(pid)
  return isProcessAlive(pid) && (birth === undefined || now === undefined || birth === now)
}

/** True when there is a socket that only this user can have made. */
export function isOwnSocket(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found !== undefined && found.isSocket() && isOwn(found.uid)
}

function isOwn(uid: number): boolean {
  return process.getuid === undefined || uid === process.getuid()
}

/** A terminal or a conversation that would be gone without its process. */
export function isLivingNode({
  persistent,
  state,
}: {
  readonly persistent?: unknown
  readonly state?: unknown
}): boolean {
  return persistent === true && LIVING_STATES.includes(state)
}

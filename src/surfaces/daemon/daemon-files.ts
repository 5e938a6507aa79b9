/** Where the daemon of a project is, and what it leaves for those who look for it. */
import { createHash } from 'node:crypto'
import { lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'

/** What systems have room for in the path of a socket, macOS included. */
const LONGEST_SOCKET = 103

/** The type of live parts that are what a workflow printed. */
export const PRINTED = 'printed'

export interface DaemonFiles {
  readonly folder: string
  /** Held by the daemon for as long as it lives. */
  readonly lock: string
  /** Who it is and where it listens. */
  readonly record: string
  readonly socket: string
  readonly log: string
}

/** What a daemon says of itself. */
export interface DaemonRecord {
  readonly pid: number
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
    socket: socketOf(dir, folder),
    log: join(folder, 'logs', 'server.log'),
  }
}

/** In the project, unless its path is longer than the path of a socket may be. */
function socketOf(dir: string, folder: string): string {
  const near = join(folder, 'nerve.sock')
  if (Buffer.byteLength(near) <= LONGEST_SOCKET) return near
  const mark = createHash('sha256').update(dir).digest('hex').slice(0, 16)
  return join(tmpdir(), `nerve-${userInfo().uid}`, `${mark}.sock`)
}

export function writeRecord(file: string, record: DaemonRecord): void {
  const draft = `${file}.${process.pid}.tmp`
  writeFileSync(draft, `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o600 })
  renameSync(draft, file)
}

export function removeRecord(file: string): void {
  rmSync(file, { force: true })
}

/** What the daemon that was here last said of itself; it may be dead. */
export function readRecord(file: string): DaemonRecord | undefined {
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found === undefined) return undefined
  // Whoever could put a record here could make us talk to a host of theirs.
  if (!found.isFile() || !isOwn(found.uid) || (found.mode & 0o022) !== 0)
    throw new NerveError('not-allowed', `${file} is not a file that only you can write. Remove it.`, {
      data: { reason: 'file' },
    })
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as DaemonRecord
  } catch (cause) {
    throw new NerveError('bad-file', `${file} is not JSON. Remove it; nerve server start writes another.`, { cause })
  }
}

/** True when there is a socket that only this user can have made. */
export function isOwnSocket(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found !== undefined && found.isSocket() && isOwn(found.uid)
}

function isOwn(uid: number): boolean {
  return process.getuid === undefined || uid === process.getuid()
}

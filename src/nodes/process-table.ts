/** The processes of this machine, as far as they can be seen: from /proc on Linux, from `ps` elsewhere. */
import { execFile } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { promisify } from 'node:util'

export interface ProcessRow {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  /** With the pid, different from every other process: pids are used again. */
  readonly started: string
  /** True when it was started under this mark, or by something that was. */
  readonly marked: boolean
}

/** The variable whose value every process of a tree inherits, wherever it moves. */
export const MARK_NAME = 'NERVE_TREE'

/** The first process of a tree: nothing of the tree is older. */
export interface Birth {
  readonly pid: number
  /** By `performance.now()`, before it was started. */
  readonly at: number
}

/** With a birth, those that are older may be left out. */
export async function listProcesses(mark: string, birth?: Birth): Promise<ProcessRow[]> {
  return process.platform === 'linux' ? fromProc(await look(), mark, birth) : fromPs(mark)
}

type Found = Omit<ProcessRow, 'marked'> & { readonly marks: string }

/** The processes at one moment. Each is read when it is first wanted. */
class Snapshot {
  readonly pids = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
  readonly #read = new Map<number, Found | undefined>()

  row(pid: number): Found | undefined {
    if (!this.#read.has(pid)) this.#read.set(pid, readProcess(pid))
    return this.#read.get(pid)
  }
}

let next: Promise<Snapshot> | undefined

/** Whoever asks in the same turn of the event loop gets the same one: hundreds of trees may end at once. */
function look(): Promise<Snapshot> {
  next ??= new Promise((resolve) => {
    setImmediate(() => {
      next = undefined
      resolve(new Snapshot())
    })
  })
  return next
}

/** In one go: while it is read, what is to be killed must not get ahead. */
function fromProc(snapshot: Snapshot, mark: string, birth: Birth | undefined): ProcessRow[] {
  const sinceBirth = birth === undefined ? undefined : bornSince(birth)
  const rows: ProcessRow[] = []
  for (const pid of snapshot.pids) {
    if (sinceBirth?.(pid) === false) continue
    const found = snapshot.row(pid)
    if (found === undefined) continue
    const { marks, ...row } = found
    rows.push({ ...row, marked: mark !== '' && marks.includes(mark) })
  }
  return rows
}

function readProcess(pid: number): Found | undefined {
  const row = parseStat(pid, proc(String(pid), 'stat').toString('latin1'))
  return row === undefined ? undefined : { ...row, marks: marksIn(proc(String(pid), 'environ')) }
}

/** The marks under which a process was started. */
function marksIn(environment: Buffer): string {
  const at = environment.indexOf(`${MARK_NAME}=`)
  if (at === -1) return ''
  const end = environment.indexOf(0, at)
  return environment.toString('latin1', at + MARK_NAME.length + 1, end === -1 ? environment.length : end)
}

/** No machine starts more processes than this in a millisecond. */
const MOST_STARTED_PER_MS = 250

/**
 * Pids are given out in turn, and start again after the last one. So what is not between that of the birth and the one given
 * out last is older, unless there was time for a whole turn. Of a thousand processes only a few have to be read.
 */
function bornSince({ pid: first, at }: Birth): ((pid: number) => boolean) | undefined {
  const all = Number(proc('sys', 'kernel/pid_max'))
  const last = Number(proc('loadavg').toString('latin1').trim().split(' ')[4])
  const started = (performance.now() - at + 1) * MOST_STARTED_PER_MS
  if (!(all > 0) || !(last > 0) || started > all / 2) return undefined
  return inTurn(first, last)
}

export function inTurn(first: number, last: number): (pid: number) => boolean {
  return last >= first ? (pid) => pid >= first && pid <= last : (pid) => pid >= first || pid <= last
}

/** Empty when the process has gone, or belongs to somebody else. */
function proc(...path: readonly string[]): Buffer {
  try {
    return readFileSync(`/proc/${path.join('/')}`)
  } catch {
    return Buffer.alloc(0)
  }
}

/** One line of /proc/PID/stat; nothing for a zombie. The name in it may hold anything, also brackets and line breaks. */
export function parseStat(pid: number, text: string): Omit<ProcessRow, 'marked'> | undefined {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, parent, group, session] = fields
  if (session === undefined || state === 'Z' || state === 'X') return undefined
  const started = fields[19] ?? ''
  return { pid, parent: Number(parent), group: Number(group), session: Number(session), started }
}

const COLUMNS = ['pid=', 'ppid=', 'pgid=', 'stat=', 'lstart='].flatMap((column) => ['-o', column])

/** What makes `ps` show the environment of every process, behind its command. */
const WITH_ENVIRONMENT: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['-A', '-E', '-ww'],
  freebsd: ['-A', '-e', '-ww'],
  openbsd: ['-A', '-e', '-ww'],
  linux: ['axeww'],
}

/**
 * The environment of others is seen as far as `ps` shows it: macOS hides that of its own programs. What is not marked for this
 * reason is found by parent and group alone.
 */
export async function fromPs(mark: string): Promise<ProcessRow[]> {
  const flags = WITH_ENVIRONMENT[process.platform]
  const lines =
    mark === '' || flags === undefined
      ? await psLines(['-A', ...COLUMNS])
      : await psLines([...flags, ...COLUMNS, '-o', 'command=']).catch(() => psLines(['-A', ...COLUMNS]))
  return lines.flatMap((line) => parsePs(line, mark) ?? [])
}

async function psLines(args: readonly string[]): Promise<readonly string[]> {
  // In other languages, the time has another number of words.
  const env = { ...process.env, LC_ALL: 'C' }
  const { stdout } = await promisify(execFile)('ps', args, { maxBuffer: 64 * 1024 * 1024, env })
  return stdout.split('\n')
}

const PS_LINE = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)(?:\s+(.*))?$/

/** One line of `ps`; nothing for a zombie. */
export function parsePs(line: string, mark: string): ProcessRow | undefined {
  const [, pid, parent, group, state, started = '', command = ''] = PS_LINE.exec(line) ?? []
  if (state === undefined || state.startsWith('Z')) return undefined
  const marked = mark !== '' && new RegExp(`\\b${MARK_NAME}=\\S*${mark}`).test(command)
  return { pid: Number(pid), parent: Number(parent), group: Number(group), session: Number(group), started, marked }
}

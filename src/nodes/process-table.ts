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

export async function listProcesses(mark: string): Promise<ProcessRow[]> {
  return process.platform === 'linux' ? fromProc(mark) : fromPs()
}

/** Read in one go: while it is read, what is to be killed must not get ahead. */
function fromProc(mark: string): ProcessRow[] {
  const sought = Buffer.from(mark)
  const rows: ProcessRow[] = []
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const row = parseStat(Number(name), proc(name, 'stat').toString('latin1'))
    if (row !== undefined) rows.push({ ...row, marked: proc(name, 'environ').includes(sought) })
  }
  return rows
}

/** Empty when the process has gone, or belongs to somebody else. */
function proc(pid: string, file: string): Buffer {
  try {
    return readFileSync(`/proc/${pid}/${file}`)
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

/** `ps` shows no environment of others: trees are then found by parent and group alone. */
export async function fromPs(): Promise<ProcessRow[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', ...COLUMNS], { maxBuffer: 64 * 1024 * 1024 })
  return stdout.split('\n').flatMap((line) => {
    const found = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line)
    if (found === null || found[4]?.startsWith('Z') === true) return []
    const [pid, parent, group] = [Number(found[1]), Number(found[2]), Number(found[3])]
    return [{ pid, parent, group, session: group, started: found[5] ?? '', marked: false }]
  })
}

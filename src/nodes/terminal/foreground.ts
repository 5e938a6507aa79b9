/** What the kernel (Linux) knows of the program in the foreground of a terminal: does it wait for input? */
import { readFileSync, readlinkSync } from 'node:fs'

/** `unknown`: it waits for several things at once, as event loops do, or the kernel does not say. */
export type Foreground = 'waiting' | 'busy' | 'unknown'

interface Calls {
  readonly read: string
  /** Calls whose first argument is the number of descriptors looked at; 1 means standard input alone. */
  readonly select: readonly string[]
  readonly loops: readonly string[]
}

const CALLS: Readonly<Record<string, Calls>> = {
  x64: { read: '0', select: ['23', '270'], loops: ['7', '232', '271', '281', '441'] },
  arm64: { read: '63', select: ['72'], loops: ['73', '22', '441'] },
}

export function lookAtForeground(shell: number): Foreground {
  const calls = CALLS[process.arch]
  if (process.platform !== 'linux' || calls === undefined) return 'unknown'
  const fields = stat(shell)
  const group = Number(fields[5])
  if (!(group > 0)) return 'unknown'
  // A pipeline is one group; only one of its processes may be the one that reads.
  const below = children(shell).flatMap((pid) => [pid, ...children(pid)])
  const members = new Set([group, ...below.filter((pid) => Number(stat(pid)[2]) === group)])
  const looks = [...members].map((pid) => look(pid, calls))
  if (looks.includes('waiting')) return 'waiting'
  return looks.includes('unknown') ? 'unknown' : 'busy'
}

function look(pid: number, { read, select, loops }: Calls): Foreground {
  const text = proc(pid, 'syscall')
  if (text === undefined) return 'unknown'
  const [call = '', first = '0'] = text.split(' ')
  const number = Number.parseInt(first, 16)
  if (call === read) return isTerminal(pid, number) ? 'waiting' : 'busy'
  if (select.includes(call)) return number === 1 && isTerminal(pid, 0) ? 'waiting' : 'unknown'
  return loops.includes(call) ? 'unknown' : 'busy'
}

function isTerminal(pid: number, descriptor: number): boolean {
  try {
    return /^\/dev\/(?:pts\/\d+|tty)/.test(readlinkSync(`/proc/${pid}/fd/${descriptor}`))
  } catch {
    return false
  }
}

/** The fields of /proc/PID/stat after the name: state, parent, group, session, tty, foreground group, … */
function stat(pid: number): string[] {
  const text = proc(pid, 'stat') ?? ''
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}

function children(pid: number): number[] {
  return (proc(pid, `task/${pid}/children`) ?? '').split(' ').filter(Boolean).map(Number)
}

function proc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1')
  } catch {
    // Gone, or not ours to look at.
    return undefined
  }
}

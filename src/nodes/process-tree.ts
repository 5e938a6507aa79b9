/**
 * Ending everything that a command started: its process group and session, its descendants, and what left all of these
 * but still carries the command's mark in its environment.
 *
 * What escapes: a process that has cleared its environment, moved to another session and lost its parent. A sandbox holds
 * that one too. Where there is no /proc, the environment of some processes is not seen, as if they had cleared it.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { NerveError } from '../base/nerve-error.ts'
import { listProcesses, type ProcessRow } from './process-table.ts'

export interface Tree {
  readonly mark: string
  /** The first process, which leads a session of its own; -1 when it is not known. */
  readonly root: number
  /** True when the first process has ended: then its pid may be somebody else's. */
  readonly rootEnded: () => boolean
  /** When it was started, by `performance.now()`, or a moment before: then less has to be looked at. */
  readonly startedAt?: number
}

const LOOK_MS = 20
const KILL_PATIENCE_MS = 5_000

/** Asks the tree to end, waits for as long as it is given, and then ends it. Says how many processes there were. */
export async function killTree(tree: Tree, graceMs: number, found: ReadonlySet<string> = new Set()): Promise<number> {
  const known = new Set(found)
  const asked = new Set<string>()
  const deadline = performance.now() + graceMs
  const birth = tree.startedAt === undefined ? undefined : { pid: tree.root, at: tree.startedAt }
  for (;;) {
    const members = treeOf(tree, await listProcesses(tree.mark, birth), known)
    if (members.length === 0) return known.size
    for (const one of members) known.add(nameOf(one))
    const over = performance.now() - deadline
    if (over > KILL_PATIENCE_MS) throw unkillable(members)
    for (const one of members) {
      if (over >= 0) send(one.pid, 'SIGKILL')
      else if (!asked.has(nameOf(one))) ask(one.pid)
      asked.add(nameOf(one))
    }
    await delay(over >= 0 ? LOOK_MS : Math.min(LOOK_MS, -over))
  }
}

/** A process that is stopped hears nothing until it goes on. */
function ask(pid: number): void {
  send(pid, 'SIGTERM')
  send(pid, 'SIGCONT')
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    // It has gone by itself, or it is not ours: the next look tells.
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ESRCH' && code !== 'EPERM') throw error
  }
}

/**
 * What programs have started that were started here, by their pids: asked before they are told to end, because then nothing
 * else may tell any more whose it was. Empty on Linux, where the mark tells, and where it cannot be told.
 */
export async function kinOf(pids: readonly number[]): Promise<ReadonlySet<string>> {
  if (pids.length === 0 || process.platform === 'linux') return new Set()
  return kinIn(await listProcesses('').catch(() => []), pids)
}

export function kinIn(rows: readonly ProcessRow[], pids: readonly number[]): ReadonlySet<string> {
  // One that is nobody's child here is somebody else by now.
  const isOther = (root: number) => rows.some(({ pid, parent }) => pid === root && parent !== process.pid)
  const trees = pids.map((root): Tree => ({ mark: '', root, rootEnded: () => isOther(root) }))
  return new Set(trees.flatMap((tree) => treeOf(tree, rows)).map(nameOf))
}

/** The processes of a tree among all. `known` are those that were found in it before. */
export function treeOf(tree: Tree, rows: readonly ProcessRow[], known: ReadonlySet<string> = new Set()): ProcessRow[] {
  const ended = tree.rootEnded()
  // Somebody else has got the pid of the root: its group and session are not ours.
  const reused = ended && rows.some(({ pid }) => pid === tree.root)
  // Of a process that is just about to vanish, the kernel says that its group and its session are -1.
  const ofRoot = (row: ProcessRow): boolean =>
    tree.root > 0 && !reused && (row.pid === tree.root || row.group === tree.root || row.session === tree.root)
  const inside = new Set<number>()
  for (const row of rows) if (row.marked || ofRoot(row) || known.has(nameOf(row))) inside.add(row.pid)
  for (let size = -1; size !== inside.size;) {
    size = inside.size
    for (const row of rows) if (inside.has(row.parent)) inside.add(row.pid)
  }
  return rows.filter(({ pid }) => inside.has(pid) && pid !== process.pid)
}

function nameOf({ pid, started }: ProcessRow): string {
  return `${pid}@${started}`
}

function unkillable(members: readonly ProcessRow[]): NerveError {
  const pids = members.map(({ pid }) => pid)
  return new NerveError(
    'command-failed',
    `Processes ${pids.join(', ')} of the command cannot be killed: they belong to another user or hang in the kernel. End them by hand.`,
    { data: { reason: 'unkillable', pids } },
  )
}

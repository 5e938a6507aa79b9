/** Ending what runs in a terminal: the program, and everything that it started. */
import { listProcesses } from '../process-table.ts'
import { killTree, treeOf, type Tree } from '../process-tree.ts'

const GRACE_MS = 500

/** The root of a tree whose first process is not known: its mark alone tells who belongs to it. */
export const NO_PROCESS = -1

/** Hangs up on everything, as a terminal that is closed does, and kills what does not go. */
export async function endTree(tree: Tree): Promise<void> {
  for (const { pid } of treeOf(tree, await listProcesses(tree.mark))) {
    send(pid, 'SIGHUP')
    send(pid, 'SIGCONT')
  }
  await killTree(tree, GRACE_MS)
}

/** Kills what the program has started, but not the program: the root, or the children of a root that only holds it. */
export async function killBelow(tree: Tree, wrapped = false): Promise<void> {
  const members = treeOf(tree, await listProcesses(tree.mark))
  const inside = new Set(members.map(({ pid }) => pid))
  const isProgram = (pid: number, parent: number): boolean =>
    tree.root === NO_PROCESS ? !inside.has(parent) : pid === tree.root || (wrapped && parent === tree.root)
  for (const { pid, parent } of members) if (!isProgram(pid, parent)) send(pid, 'SIGKILL')
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    // It has gone by itself, or it is not ours: killTree looks again.
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ESRCH' && code !== 'EPERM') throw error
  }
}

/** The end of a program that an adapter has started, with all that is in its group. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

const PATIENCE_MS = 2_000

/** After it was told to end, in whatever way it understands: what is left after a moment is killed. The group is its own. */
export async function endGroup(child: ChildProcess): Promise<void> {
  if (child.pid === undefined) return
  const gone = child.exitCode !== null || child.signalCode !== null ? undefined : once(child, 'exit')
  const late = setTimeout(() => signalGroup(child, 'SIGKILL'), PATIENCE_MS)
  await gone
  clearTimeout(late)
  signalGroup(child, 'SIGKILL')
}

export function signalGroup({ pid }: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch (error) {
    // Nothing of it is left.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Whether a process lives, and which one it is: its number may be used again. */

/** False for one that was killed and that nobody has taken note of: in a container whose first process does not, it stays so. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  const [state] = statOf(pid)
  return state !== 'Z' && state !== 'X'
}

/** What tells it from a later one with the same number; undefined where the system does not say. */
export function birthOf(pid: number): string | undefined {
  return statOf(pid)[1]
}

function statOf(pid: number): readonly [state: string | undefined, birth: string | undefined] {
  let stat: string
  try {
    // Not an import: naming node:fs in one loads the streams and promises behind its exports too, at every start.
    stat = process.getBuiltinModule('node:fs').readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return [undefined, undefined]
  }
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return [fields[0], fields[19]]
}

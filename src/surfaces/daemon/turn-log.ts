import { copyFileSync, fstatSync, ftruncateSync, renameSync, rmSync, statSync } from 'node:fs'

export const MOST_LOG = 10_485_760
const STDERR = 2

/**
 * Keeps the log of a daemon from growing for as long as it lives: what is in it becomes the older log, and it begins anew. The file
 * stays the same, because programs that workflows have started may write to it too. Where stderr goes elsewhere, nothing is done.
 */
export function turnLog(log: string): void {
  const [there, own] = [statSync(log, { throwIfNoEntry: false }), fstatSync(STDERR)]
  if (there?.ino !== own.ino || there.dev !== own.dev || there.size <= MOST_LOG) return
  const copy = `${log}.copy`
  try {
    copyFileSync(log, copy)
    // Whoever opens the older log finds all of it.
    renameSync(copy, `${log}.1`)
  } finally {
    // Also on a disk without room for two: runs need it more.
    rmSync(copy, { force: true })
    ftruncateSync(STDERR, 0)
  }
}

import { copyFileSync, fstatSync, ftruncateSync, statSync } from 'node:fs'

export const MOST_LOG = 10_485_760
const STDERR = 2

/**
 * Keeps the log of a daemon from growing for as long as it lives: what is in it becomes the older log, and it begins anew. The file
 * stays the same, because programs that workflows have started may write to it too. Where stderr goes elsewhere, nothing is done.
 */
export function turnLog(log: string): void {
  const [there, own] = [statSync(log, { throwIfNoEntry: false }), fstatSync(STDERR)]
  if (there?.ino !== own.ino || there.dev !== own.dev || there.size <= MOST_LOG) return
  try {
    copyFileSync(log, `${log}.1`)
  } finally {
    // Also on a disk without room for two: runs need it more.
    ftruncateSync(STDERR, 0)
  }
}

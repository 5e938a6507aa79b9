/** Sees to it that a daemon can be found where it is looked for. */
import { statSync } from 'node:fs'
import { databaseFile } from '../../host/api.ts'
import type { Server } from '../server/server.ts'
import { daemonFiles, isLiving, isOwnSocket, readRecord, writeRecord, type DaemonRecord } from './daemon-files.ts'

export interface Placed {
  readonly dir: string
  readonly record: DaemonRecord
  readonly server: Pick<Server, 'listenAgain'>
}

/** To be called now and then: puts back what somebody removed, or says why the daemon has no place here any more. */
export function placeKeeper({ dir, record, server }: Placed): () => Promise<string | undefined> {
  const { folder, record: file } = daemonFiles(dir)
  const database = databaseFile(dir)
  const [mark, stored] = [markOf(folder), markOf(database)]
  return async () => {
    // Its runs go on where the folder is now, when a daemon starts there. Where there is none any more, there is nothing to do.
    if (markOf(folder) !== mark) return 'its folder was moved or removed'
    // What it writes would be gone with it, and what somebody put in its place is not read.
    if (markOf(database) !== stored) return 'its database was moved or removed'
    const there = readRecord(dir)
    if (there?.pid !== record.pid || there.started !== record.started) {
      if (there !== undefined && isLiving(there)) return `process ${there.pid} is in its place`
      writeRecord(file, record)
    }
    if (!isOwnSocket(record.socket)) await server.listenAgain()
    return undefined
  }
}

function markOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true })
  return found === undefined ? undefined : `${found.dev}:${found.ino}`
}

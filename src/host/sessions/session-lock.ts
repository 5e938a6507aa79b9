/** A session is open in one process at a time. */
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'
import { makeOwnFolder } from '../../base/own-folder.ts'
import { holdFile } from '../../base/file-lock.ts'
import { sessionFolder } from './session-folder.ts'

/** Holds the session's name in this folder until what it returns is called. */
export function holdSession(dir: string, name: string): () => void {
  const folder = sessionFolder(dir)
  makeOwnFolder(dirname(folder))
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const letGo = holdFile(join(folder, `${name}.lock`))
  if (letGo !== undefined) return letGo
  throw new NerveError(
    'owned-elsewhere',
    `Session '${name}' in ${dir} is open already, in this process or in another one. Close it there, or choose another name.`,
    { data: { session: name } },
  )
}

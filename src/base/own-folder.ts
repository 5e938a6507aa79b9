/**
 * A folder of this user alone, which git leaves out. It says of itself where it was made: a copy of it, as in a clone, an archive or a
 * backup, is another folder, and what is written in there is not known to come from here.
 */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { NerveError } from './nerve-error.ts'

const HERE = 'here'
const IGNORE = '.gitignore'

/** Makes the folder; one that is there stays as it is. Of several who make it at once, none sees it before it says where it was made. */
export function makeOwnFolder(folder: string): void {
  try {
    if (!existsSync(folder)) return makeWhole(folder)
    if (readdirSync(folder).length === 0) sign(folder)
    if (!existsSync(join(folder, IGNORE))) writeFileSync(join(folder, IGNORE), '*\n')
  } catch (cause) {
    throw new NerveError(
      'store-failed',
      `${folder} could not be made: ${(cause as Error).message}. Check that ${dirname(folder)} can be written, or work in another folder.`,
      { cause },
    )
  }
}

function makeWhole(folder: string): void {
  mkdirSync(dirname(folder), { recursive: true, mode: 0o700 })
  const draft = mkdtempSync(`${folder}-`)
  try {
    sign(draft)
    writeFileSync(join(draft, IGNORE), '*\n')
    renameSync(draft, folder)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    // Somebody else was faster.
    if (!existsSync(folder)) throw error
  }
}

function sign(folder: string): void {
  writeFileSync(join(folder, HERE), `${markOf(folder)}\n`, { mode: 0o600 })
}

/** False for a copy, and for one that somebody else made. */
export function isMadeHere(folder: string): boolean {
  try {
    return readFileSync(join(folder, HERE), 'utf8').trim() === markOf(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

/** Moving a folder keeps both, and a copy can have neither. */
function markOf(folder: string): string {
  const { ino, birthtimeNs } = statSync(folder, { bigint: true })
  return `${ino}:${birthtimeNs}`
}

/** Why it cannot be told that only this user has written there; undefined when it can, or when nothing is there. */
function foreignPlace(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined || process.getuid === undefined) return undefined
  if (found.isSymbolicLink()) return `${path} is a link`
  if (found.uid !== process.getuid()) return `${path} belongs to another user`
  return (found.mode & 0o022) === 0 ? undefined : `${path} can be written by others: chmod go-w it`
}

/** Refuses a folder in which others can write, or could have written, and files of theirs in it. */
export function checkOwnFolder(folder: string, ...files: readonly string[]): void {
  for (const path of [folder, ...files.map((file) => join(folder, file))]) {
    const why = foreignPlace(path)
    if (why === undefined) continue
    const project = dirname(folder)
    throw new NerveError(
      'not-trusted',
      `${why}. What is in it could be somebody else's, and would run as you. If it may all the same: nerve trust ${project}`,
      { data: { folder: project, file: path } },
    )
  }
}

/**
 * Where the output of a command goes when there is more than its result holds: a folder of its own, with the run in its name.
 * In the folder for temporary files it goes with the run; a folder that somebody chose is theirs.
 */
import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PREFIX = 'nerve-spill-'
const RANDOM = 6

/** `key` is that of the step, which begins with its run. */
export function makeSpillFolder(parent: string, key: string): string {
  return mkdtempSync(join(parent, `${PREFIX}${(key.split('/')[0] ?? '').replaceAll(/[^\w-]/g, '')}-`))
}

/** Removes what runs have left in the folder for temporary files. Says which folders. */
export function removeSpills(runs: Iterable<string>, parent: string = tmpdir()): string[] {
  const gone = new Set([...runs].map((run) => `${PREFIX}${run}-`))
  const found = readdirSync(parent).filter((name) => gone.has(name.slice(0, -RANDOM)) && isOurs(join(parent, name)))
  for (const name of found) rmSync(join(parent, name), { recursive: true, force: true })
  return found
}

/** Others may write there too, and call a link or a folder as they like. */
function isOurs(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found?.isDirectory() === true && found.uid === process.getuid?.()
}

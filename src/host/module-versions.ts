/**
 * Addresses for modules that are loaded again when they change. Node keeps a module for ever under its address, so a file
 * that changed gets another one, and so does every file that imports it, directly or not. What did not change keeps its
 * address: it is the same module, with the same nodes, as before.
 */
import { readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { contentHash } from '../base/value.ts'

interface Known {
  /** When it was written, and how long it is: while that is the same, nobody reads it again. */
  stamp: string
  hash: string
  version: number
  readonly path: string
  /** The files that import it. */
  readonly importers: Set<string>
}

const files = new Map<string, Known>()
/** What was required, by its path. */
const { cache: required } = createRequire(import.meta.url)
const MARK = '?nerve='

/** The address to load a file under, by its plain one: the first time that is the same. */
export function addressOf(url: string): string {
  const known = files.get(url)
  if (known === undefined) files.set(url, first(fileURLToPath(url)))
  return known === undefined || known.version === 1 ? url : `${url}${MARK}${known.version}`
}

function first(path: string): Known {
  return { stamp: stampOf(path), hash: hashOf(path), version: 1, path, importers: new Set() }
}

/** The address of what a module imports: for files of an author that import files of an author, the one of now. */
export function importedAddress(url: string, parent: string | undefined): string {
  const [importer = ''] = parent?.split(MARK) ?? []
  if (!files.has(importer) || !url.startsWith('file:') || isInstalled(url) || url.includes('?')) return url
  const address = addressOf(url)
  files.get(url)?.importers.add(importer)
  return address
}

/** Looks which of the known files have changed. */
export function noticeChanges(): void {
  const changed: Known[] = []
  for (const known of files.values()) {
    const stamp = stampOf(known.path)
    if (stamp === known.stamp) continue
    known.stamp = stamp
    const hash = hashOf(known.path)
    if (hash === known.hash) continue
    known.hash = hash
    changed.push(known)
  }
  outdate(changed)
}

/** A file that did not load is tried again, also when it has not changed: what it needs may be there by then. */
export function notLoaded(url: string): void {
  const known = files.get(url)
  if (known !== undefined) outdate([known])
}

function outdate(changed: readonly Known[]): void {
  const outdated = new Set(changed)
  // A set that grows while it is walked is walked to its end.
  for (const known of outdated) {
    known.version += 1
    delete required[known.path]
    for (const importer of known.importers) {
      const above = files.get(importer)
      if (above !== undefined) outdated.add(above)
    }
  }
}

export function isInstalled(url: string): boolean {
  return url.includes('/node_modules/')
}

function stampOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true })
  return found === undefined ? 'gone' : `${found.ino}:${found.mtimeNs}:${found.size}`
}

/** A file that is gone has changed too: whoever imports it must hear so. */
function hashOf(path: string): string {
  try {
    return contentHash(readFileSync(path, 'utf8'))
  } catch {
    return 'gone'
  }
}

/**
 * What is kept of sessions: a small JSON file each, written whole or not at all. One process at a time writes a session's
 * file (session-lock.ts); anybody may read it.
 */
import { open, mkdir, readFile, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'
import type { Lineage } from './lineage.ts'
import type { NodeConfig } from './node-factory.ts'
import { sessionFolder } from './session-folder.ts'
import { checkName, isName } from './session-names.ts'

const FORMAT = 1
const ENDING = '.json'

/** What is known of one thing in a session when the session is not open. */
export interface MemberRecord {
  readonly name: string
  readonly type: 'node' | 'definition'
  readonly kind: string
  readonly persistent?: boolean
  /** The definition that it came with. */
  readonly within?: string
  readonly after?: readonly string[]
  /** What it is made from again, without secrets. */
  readonly config?: NodeConfig
  /** What the configuration leaves out, as paths in it. */
  readonly omitted?: readonly string[]
  readonly lineage?: Lineage
}

export interface SessionRecord {
  readonly format: number
  readonly name: string
  readonly tags: readonly string[]
  /** Milliseconds since the epoch. */
  readonly created: number
  /** In the order in which they are started. */
  readonly members: readonly MemberRecord[]
}

export class SessionStore {
  readonly #folder: string

  constructor(dir: string) {
    this.#folder = sessionFolder(dir)
  }

  async write(record: SessionRecord): Promise<void> {
    const file = this.#file(record.name)
    const draft = `${file}.tmp`
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    const opened = await open(draft, 'w', 0o600)
    try {
      await opened.writeFile(`${JSON.stringify(record, undefined, 2)}\n`)
      await opened.sync()
    } finally {
      await opened.close()
    }
    await rename(draft, file)
  }

  /** The record of a session, or undefined when there is none. */
  async read(name: string): Promise<SessionRecord | undefined> {
    const file = this.#file(name)
    let text: string
    try {
      text = await readFile(file, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
    return parseRecord(text, name, file)
  }

  /** What changes whenever the record does; undefined when there is none. */
  async stamp(name: string): Promise<string | undefined> {
    try {
      const { ino, mtimeMs, size } = await stat(this.#file(name))
      return `${ino} ${mtimeMs} ${size}`
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }

  /** The names of all that are recorded. */
  async names(): Promise<readonly string[]> {
    let files: readonly string[]
    try {
      files = await readdir(this.#folder)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
      throw error
    }
    return files
      .filter((file) => file.endsWith(ENDING))
      .map((file) => file.slice(0, -ENDING.length))
      .filter(isName)
      .toSorted()
  }

  async remove(name: string): Promise<void> {
    await rm(this.#file(name), { force: true })
  }

  #file(name: string): string {
    checkName(name, 'a session')
    return join(this.#folder, `${name}${ENDING}`)
  }
}

export function sessionRecord(parts: Omit<SessionRecord, 'format'>): SessionRecord {
  return { format: FORMAT, ...parts }
}

function parseRecord(text: string, name: string, file: string): SessionRecord {
  let found: unknown
  try {
    found = JSON.parse(text)
  } catch (cause) {
    throw corrupt(file, 'it is not JSON', cause)
  }
  if (typeof found !== 'object' || found === null) throw corrupt(file, 'it is not an object')
  const record = found as Readonly<Record<keyof SessionRecord, unknown>>
  if (typeof record.format === 'number' && record.format > FORMAT)
    throw new NerveError('store-newer', `${file} was written by a newer Nerve (format ${record.format}). Update Nerve.`)
  const wrong = wrongField(record, name)
  if (wrong !== undefined) throw corrupt(file, `'${wrong}' is not what it should be`)
  return found as SessionRecord
}

function wrongField(record: Readonly<Record<keyof SessionRecord, unknown>>, name: string): string | undefined {
  const { format, tags, created, members } = record
  if (format !== FORMAT) return 'format'
  if (record.name !== name) return 'name'
  if (!isTexts(tags)) return 'tags'
  if (typeof created !== 'number') return 'created'
  if (!Array.isArray(members)) return 'members'
  const bad = members.findIndex((one) => !isMember(one))
  return bad < 0 ? undefined : `members[${bad}]`
}

function isMember(value: unknown): value is MemberRecord {
  if (typeof value !== 'object' || value === null) return false
  const { name, type, kind, config, after, omitted, lineage } = value as Readonly<Record<string, unknown>>
  return (
    isName(name) &&
    (type === 'node' || type === 'definition') &&
    typeof kind === 'string' &&
    (config === undefined || (typeof config === 'object' && config !== null)) &&
    (after === undefined || isTexts(after)) &&
    (omitted === undefined || isTexts(omitted)) &&
    (lineage === undefined || isLineage(lineage))
  )
}

function isLineage(value: unknown): value is Lineage {
  if (typeof value !== 'object' || value === null) return false
  const { forkedFrom, forkedAt, depth } = value as Readonly<Record<string, unknown>>
  return typeof forkedFrom === 'string' && typeof forkedAt === 'number' && typeof depth === 'number'
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

function corrupt(file: string, why: string, cause?: unknown): NerveError {
  return new NerveError(
    'store-corrupt',
    `${file} is not the record of a session: ${why}. Nothing was changed. Mend it, or move it away.`,
    { data: { file }, ...(cause === undefined ? {} : { cause }) },
  )
}

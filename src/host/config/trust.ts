/**
 * Which projects a person has said may run code that nobody names: the project file, the files of its folder for workflows, and what is
 * recorded in a `.nerve` that came from elsewhere. The records of trust are outside of every project, one small file each, so that nothing in
 * a repository can say so of itself. Trust is given to a folder by where it is, once: also when its files change later. The hash
 * says whether the project file has.
 */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'
import { stateFolder } from '../../base/state-folder.ts'
import { contentHash } from '../../base/value.ts'
import { configFile } from './find-config.ts'

const FORMAT = 2

export interface Trust {
  readonly format: typeof FORMAT
  /** Its real path. */
  readonly folder: string
  /** Of the project file when it was trusted; missing when there was none. */
  readonly hash?: string
  /** When (milliseconds since the epoch). */
  readonly time: number
}

type Environment = Readonly<Record<string, string | undefined>>

function recordFolder(env: Environment): string {
  return join(stateFolder(env), 'trusted')
}

/** `NERVE_TRUST=1` trusts everything, for one process. */
export function isTrusted(dir: string, env: Environment = process.env): boolean {
  if (env['NERVE_TRUST'] === '1') return true
  const real = realpathSync(dir)
  return readTrust(recordOf(real, env))?.folder === real
}

export function trustFolder(dir: string, env: Environment = process.env): Trust {
  const real = realpathSync(dir)
  const hash = hashOf(real)
  const trust: Trust = { format: FORMAT, folder: real, ...(hash === undefined ? {} : { hash }), time: Date.now() }
  const record = recordOf(real, env)
  // Two processes may be told at the same time.
  const draft = `${record}.${process.pid}.tmp`
  try {
    mkdirSync(recordFolder(env), { recursive: true, mode: 0o700 })
    writeFileSync(draft, `${JSON.stringify(trust)}\n`, { mode: 0o600 })
    renameSync(draft, record)
  } catch (cause) {
    throw new NerveError(
      'bad-file',
      `That ${real} is trusted could not be written down: ${(cause as Error).message}. For one command: NERVE_TRUST=1.`,
      { cause },
    )
  }
  return trust
}

/** Takes it back; false when it was not trusted. One that is gone can come back, and not by the same hand. */
export function distrustFolder(dir: string, env: Environment = process.env): boolean {
  const record = recordOf(existsSync(dir) ? realpathSync(dir) : resolve(dir), env)
  const there = readTrust(record) !== undefined
  rmSync(record, { force: true })
  return there
}

/** Everything that is trusted, and whether its project file has changed since (or is gone). */
export function trustedFolders(env: Environment = process.env): readonly (Trust & { readonly changed: boolean })[] {
  let files: readonly string[]
  try {
    files = readdirSync(recordFolder(env))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
  return files
    .flatMap((file) => readTrust(join(recordFolder(env), file)) ?? [])
    .map((trust) => ({ ...trust, changed: hashOf(trust.folder) !== trust.hash }))
    .toSorted((one, two) => one.time - two.time)
}

function recordOf(real: string, env: Environment): string {
  return join(recordFolder(env), `${contentHash(real)}.json`)
}

/** What cannot be read trusts nothing. */
function readTrust(record: string): Trust | undefined {
  let found: unknown
  try {
    found = JSON.parse(readFileSync(record, 'utf8'))
  } catch {
    return undefined
  }
  return (found as Partial<Trust> | null)?.format === FORMAT ? (found as Trust) : undefined
}

function hashOf(dir: string): string | undefined {
  const file = configFile(dir)
  return file === undefined ? undefined : contentHash(readFileSync(file, 'utf8'))
}

/** Who is asked whether code may run. */
export interface TrustAsking {
  /** Asks a person about this file or folder; without it nobody is there to be asked. */
  readonly ask?: ((code: string) => Promise<boolean>) | undefined
  readonly env?: Environment
}

/** Sees to it that the project may run this file or folder of its own; nothing of it has run yet. */
export async function demandTrust(dir: string, code: string, asking: TrustAsking = {}): Promise<void> {
  const { env = process.env } = asking
  if (isTrusted(dir, env)) return
  if ((await asking.ask?.(code)) === true) return void trustFolder(dir, env)
  throw new NerveError(
    'not-trusted',
    `${code} holds code that would run now, and nobody has trusted this project yet. Look at it; then: nerve trust ${dir}. ` +
      'For one command, as in CI: NERVE_TRUST=1.',
    { data: { folder: dir, file: code } },
  )
}

/**
 * Which project files a person has said may run. The records are outside of every project, one small file each, so that
 * nothing in a repository can say so of itself. Trust is given to a file by where it is, once: also when it changes later.
 * The hash says whether it has.
 */
import { mkdirSync, readFileSync, readdirSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'
import { contentHash } from '../../base/value.ts'

const FORMAT = 1

export interface Trust {
  readonly format: typeof FORMAT
  /** Its real path. */
  readonly file: string
  /** Of its content when it was trusted. */
  readonly hash: string
  /** When (milliseconds since the epoch). */
  readonly time: number
}

type Environment = Readonly<Record<string, string | undefined>>

function trustFolder(env: Environment): string {
  const given = env['XDG_STATE_HOME'] ?? ''
  return join(isAbsolute(given) ? given : join(homedir(), '.local', 'state'), 'nerve', 'trusted')
}

export function isTrusted(file: string, env: Environment = process.env): boolean {
  const real = realpathSync(file)
  return readTrust(recordOf(real, env))?.file === real
}

export function trustFile(file: string, env: Environment = process.env): Trust {
  const real = realpathSync(file)
  const trust: Trust = { format: FORMAT, file: real, hash: hashOf(real) ?? '', time: Date.now() }
  const record = recordOf(real, env)
  // Two processes may be told at the same time.
  const draft = `${record}.${process.pid}.tmp`
  try {
    mkdirSync(trustFolder(env), { recursive: true, mode: 0o700 })
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

/** Takes it back; false when it was not trusted. */
export function distrustFile(file: string, env: Environment = process.env): boolean {
  const record = recordOf(realpathSync(file), env)
  const there = readTrust(record) !== undefined
  rmSync(record, { force: true })
  return there
}

/** Everything that is trusted, and whether it has changed since (or is gone). */
export function trustedFiles(env: Environment = process.env): readonly (Trust & { readonly changed: boolean })[] {
  let files: readonly string[]
  try {
    files = readdirSync(trustFolder(env))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
  return files
    .flatMap((file) => readTrust(join(trustFolder(env), file)) ?? [])
    .map((trust) => ({ ...trust, changed: hashOf(trust.file) !== trust.hash }))
    .toSorted((one, two) => one.time - two.time)
}

function recordOf(real: string, env: Environment): string {
  return join(trustFolder(env), `${contentHash(real)}.json`)
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

function hashOf(file: string): string | undefined {
  try {
    return contentHash(readFileSync(file, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

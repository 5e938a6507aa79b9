/**
 * Who may come in over TCP and HTTP: tokens with a scope, in a file that only its user can read. The file is looked at
 * again when it changes, so that a token that is revoked or rotated anywhere is refused everywhere at once.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'
import { makeOwnFolder } from '../../base/own-folder.ts'
import { SCOPES, type Scope } from '../../host/contract/scopes.ts'
import { holdFile } from '../../base/file-lock.ts'

export interface Token {
  /** What people call it; it is in the journals as who did something. */
  readonly name: string
  readonly scope: Scope
  readonly secret: string
  /** Milliseconds since the epoch. */
  readonly created: number
}

export interface Tokens {
  readonly file: string
  list(): readonly Token[]
  /** Makes one. A name that is taken is an error. */
  create(name: string, scope: Scope): Token
  /** Another secret under the same name; the old one is refused from now on. */
  rotate(name: string): Token
  revoke(name: string): void
  /** The token with this secret. Takes the same time whatever is given. */
  find(secret: string): Token | undefined
}

const FIRST = 'default'
const SECRET_BYTES = 32
/** A change takes a moment. Whoever waits longer than this waits for something that is not right. */
const PATIENCE_MS = 10_000

/** Where the tokens of a project are. */
export function tokensFile(dir: string): string {
  return join(dir, '.nerve', 'tokens.json')
}

/** Opens the file of tokens. When there is none, it is made, with one token that may do everything. */
export function openTokens(file: string): Tokens {
  return new FileTokens(file)
}

class FileTokens implements Tokens {
  readonly file: string
  #all: readonly Token[] = []
  #stamp = ''

  constructor(file: string) {
    this.file = file
    if (statSync(file, { throwIfNoEntry: false }) === undefined)
      // Another process may make it in the same moment.
      this.#change((all) => (existsSync(file) ? all : [make(FIRST, 'control')]))
    this.#refresh()
  }

  list(): readonly Token[] {
    this.#refresh()
    return this.#all
  }

  create(name: string, scope: Scope): Token {
    if (!/^[\w.-]{1,64}$/.test(name))
      throw new NerveError('bad-option', `${JSON.stringify(name)} is not a name for a token: letters, digits, . _ -`)
    if (!SCOPES.includes(scope))
      throw new NerveError('bad-option', `${JSON.stringify(scope)} is not a scope. Known: ${SCOPES.join(', ')}.`)
    const token = make(name, scope)
    this.#change((all) => {
      if (all.some((one) => one.name === name))
        throw new NerveError('bad-option', `There is a token '${name}' already.`)
      return [...all, token]
    })
    return token
  }

  rotate(name: string): Token {
    let token = make(name, 'read')
    this.#change((all) => {
      token = { ...token, scope: named(all, name).scope }
      return all.map((one) => (one.name === name ? token : one))
    })
    return token
  }

  revoke(name: string): void {
    this.#change((all) => {
      const token = named(all, name)
      return all.filter((one) => one !== token)
    })
  }

  find(secret: string): Token | undefined {
    const given = digest(secret)
    let found: Token | undefined
    for (const one of this.list()) if (timingSafeEqual(digest(one.secret), given)) found = one
    return found
  }

  #refresh(): void {
    const stamp = stampOf(this.file)
    if (stamp === this.#stamp) return
    this.#all = read(this.file)
    this.#stamp = stamp
  }

  /** One process at a time: what another one changed meanwhile is kept. */
  #change(change: (all: readonly Token[]) => readonly Token[]): void {
    prepare(dirname(this.file))
    const letGo = holdFile(`${this.file}.lock`, PATIENCE_MS)
    if (letGo === undefined)
      throw new NerveError(
        'owned-elsewhere',
        `Another process has been changing ${this.file} for ${PATIENCE_MS / 1_000} s. Nothing was changed. Try again.`,
        { retry: 'later' },
      )
    try {
      const draft = `${this.file}.${process.pid}.tmp`
      const text = JSON.stringify({ tokens: change(read(this.file)) }, undefined, 2)
      // What a process left that was killed here.
      rmSync(draft, { force: true })
      writeFileSync(draft, `${text}\n`, { mode: 0o600, flag: 'wx' })
      renameSync(draft, this.file)
      this.#stamp = ''
    } finally {
      letGo()
    }
  }
}

/** A folder that is not Nerve's own may be under version control for good reasons. */
function prepare(folder: string): void {
  if (basename(folder) === '.nerve') makeOwnFolder(folder)
  else mkdirSync(folder, { recursive: true, mode: 0o700 })
}

function named(all: readonly Token[], name: string): Token {
  const found = all.find((one) => one.name === name)
  if (found !== undefined) return found
  throw new NerveError('not-found', `There is no token '${name}'. List them with: nerve token list`)
}

function make(name: string, scope: Scope): Token {
  return { name, scope, secret: `nrv_${randomBytes(SECRET_BYTES).toString('base64url')}`, created: Date.now() }
}

/** Secrets of different lengths compare in the same time, too. */
function digest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}

/** Changes whenever the file does, or who may read it. Without the file nobody comes in. */
function stampOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true })
  return found === undefined ? 'none' : `${found.ino}:${found.ctimeNs}:${found.size}`
}

function read(file: string): readonly Token[] {
  let opened: number
  try {
    opened = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw unsafe(file, 'is a link or cannot be read', cause)
  }
  try {
    const { mode, uid } = fstatSync(opened)
    if ((mode & 0o077) !== 0) throw unsafe(file, 'can be read by others: chmod 600 it, and rotate its tokens')
    if (process.getuid !== undefined && uid !== process.getuid()) throw unsafe(file, 'belongs to another user')
    return parse(file, readFileSync(opened, 'utf8'))
  } finally {
    closeSync(opened)
  }
}

function parse(file: string, text: string): readonly Token[] {
  let found: unknown
  try {
    found = JSON.parse(text)
  } catch (cause) {
    // Without the cause's text: it may quote the file.
    throw new NerveError('bad-file', `${file} is not JSON. Remove it, and new tokens are made.`, {
      data: { at: String((cause as Error).name) },
    })
  }
  const tokens = (found as { readonly tokens?: unknown } | null)?.tokens
  if (Array.isArray(tokens) && tokens.every(isToken)) return tokens
  throw new NerveError('bad-file', `${file} is not a file of tokens. Remove it, and new ones are made.`)
}

function isToken(value: unknown): value is Token {
  const { name, scope, secret } = (value ?? {}) as Partial<Token>
  const isLong = typeof secret === 'string' && secret.length >= 32
  return typeof name === 'string' && isLong && SCOPES.some((one) => one === scope)
}

function unsafe(file: string, why: string, cause?: unknown): NerveError {
  return new NerveError('not-allowed', `The file of tokens ${file} ${why}.`, {
    data: { reason: 'file' },
    ...(cause === undefined ? {} : { cause }),
  })
}

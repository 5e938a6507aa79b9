/**
 * Keeps secrets out of what is written for people. It knows the forms of common keys, the values of environment variables
 * that are named like secrets, and fields that are named like them. It is a net, not a proof: do not write secrets.
 */
import { errorData, withoutStack } from './nerve-error.ts'

export const REDACTED = '[redacted]'

/** Takes text and values, gives them back without secrets, as something that JSON can hold. */
export interface Redactor {
  text(text: string): string
  value(value: unknown): unknown
  /** True when there is something in a text that must not be written. */
  finds(text: string): boolean
}

export interface RedactorOptions {
  /** Where the values of secrets are found by the names of their variables (default: of this process). */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** More that must not be written. Each has to be global (`/…/g`). */
  readonly patterns?: readonly RegExp[]
  /** The most characters that are left of one text; of a longer one the beginning is (default 65,536). */
  readonly longest?: number
}

const SECRET_VARIABLE = /(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)$/i
const SECRET_FIELD =
  /(?:api|access|private|secret|auth|session|refresh)[_-]?(?:key|token|secret)$|^(?:password|passwd|passphrase|secret|token|(?:proxy-)?authorization|(?:set-)?cookie)$/i
/** As in the `env` of a node: other fields may well be called `cacheKey`. */
const VARIABLE_FIELD = /^[A-Z0-9_]*_(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)$/
/** Shorter values are words that occur everywhere. */
const SHORTEST_VALUE = 8
/** What one text of a line holds at most, and how much more of it is looked at than is left. */
const MOST_TEXT = 65_536
const LOOKED_AT_FACTOR = 16
const DEEPEST = 32

/**
 * What keys look like, and what is left of each. Words have no digits, so some of the forms ask for one. A text is read once,
 * whatever is in it: where a form begins and then is none, it takes all that it looked at, up to where none can end, so
 * that it does not begin again within.
 */
const FORMS: readonly (readonly [form: RegExp, left: string | typeof keyOnly])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, REDACTED],
  [/\b(?:sk|rk)[-_](?:((?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{16,})|[A-Za-z0-9_-]*)/g, keyOnly],
  [
    /\b(?:gh[pousr]_|github_pat_|glpat-|npm_|hf_|pypi-|dop_v1_|shpat_)(?:((?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{16,})|[A-Za-z0-9_-]*)/g,
    keyOnly,
  ],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, REDACTED],
  [/\bAIza[A-Za-z0-9_-]{30,}/g, REDACTED],
  [/\bxox[a-z]-[A-Za-z0-9-]{10,}/g, REDACTED],
  [/\beyJ(?:([A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)|[A-Za-z0-9_-]*)/g, keyOnly],
  [/\b((?:Bearer|Basic)\s+)[A-Za-z0-9._~+/=-]{12,}/gi, `$1${REDACTED}`],
  [/(?<=[a-z0-9+.-])(:\/\/[^\s:/@]*:)[^\s/@]+(?=@)/gi, `$1${REDACTED}`],
  [/\b([A-Za-z0-9_]*(?:_KEY|_TOKEN|_SECRET|PASSWORD|PASSWD)=)(?:"[^"\n]*"|'[^'\n]*'|[^\s"';&|]+)/g, `$1${REDACTED}`],
]

function keyOnly(found: string, key: string | undefined): string {
  return key === undefined ? found : REDACTED
}

export function createRedactor(options: RedactorOptions = {}): Redactor {
  const values = secretValues(options.env ?? process.env)
  const more = options.patterns ?? []
  const clean = (given: string): string => {
    let left = given
    for (const value of values) left = left.replaceAll(value, REDACTED)
    for (const [form, instead] of FORMS) left = left.replace(form, instead as string)
    for (const pattern of more) left = left.replace(pattern, REDACTED)
    return left
  }
  const longest = options.longest ?? MOST_TEXT
  const lookedAt = longest * LOOKED_AT_FACTOR
  const text = (given: string): string => {
    const left = clean(given.slice(0, lookedAt))
    const dropped = Math.max(0, given.length - lookedAt) + Math.max(0, left.length - longest)
    return dropped === 0 ? left : `${left.slice(0, longest)}… (${dropped} more characters)`
  }
  return { text, value: (value) => walk(value, text, []), finds: (given) => clean(given) !== given }
}

/** True for fields whose text is a secret, whatever it looks like. */
export function isSecretField(name: string): boolean {
  return SECRET_FIELD.test(name) || VARIABLE_FIELD.test(name)
}

/** The longest first: one may be a part of another. */
function secretValues(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  return Object.entries(env)
    .flatMap(([name, value]) =>
      SECRET_VARIABLE.test(name) && value !== undefined && value.length >= SHORTEST_VALUE ? [value] : [],
    )
    .toSorted((one, two) => two.length - one.length)
}

function walk(value: unknown, text: (given: string) => string, around: readonly unknown[]): unknown {
  if (typeof value === 'string') return text(value)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (typeof value === 'function' || typeof value === 'symbol') return `[${typeof value}]`
  if (typeof value !== 'object' || value === null) return value
  if (around.includes(value)) return '[cycle]'
  if (around.length >= DEEPEST) return '[deeper]'
  const inside = [...around, value]
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (value instanceof Error) return walk(withoutStack(errorData(value)), text, inside)
  if (value instanceof Map) return fields(value.entries(), text, inside)
  if (Array.isArray(value) || value instanceof Set) return [...value].map((one) => walk(one, text, inside))
  return fields(Object.entries(value), text, inside)
}

function fields(
  entries: Iterable<readonly [unknown, unknown]>,
  text: (given: string) => string,
  around: readonly unknown[],
): Readonly<Record<string, unknown>> {
  const found: [string, unknown][] = []
  for (const [key, value] of entries) {
    const name = text(typeof key === 'string' ? key : String(key))
    found.push([
      name,
      typeof value === 'string' && value !== '' && isSecretField(name) ? REDACTED : walk(value, text, around),
    ])
  }
  return Object.fromEntries(found)
}

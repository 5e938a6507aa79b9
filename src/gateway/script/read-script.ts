/** Reads a script, YAML or data, and tells everything that is wrong with it at once. */
import { milliseconds } from '../../base/duration.ts'
import { nearest } from '../../base/nearest.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { Script } from './script.ts'

/** Reads the text of a script. */
export async function parseScript(text: string, file = 'the script'): Promise<Script> {
  const { parseDocument } = await import('yaml')
  const document = parseDocument(text, { logLevel: 'silent', schema: 'core' })
  const [error] = document.errors
  if (error !== undefined)
    throw new NerveError('bad-file', `${file} is no YAML: ${error.message.trim()}`, { cause: error })
  return checkScript(document.toJS({ maxAliasCount: 100 }), file)
}

export function checkScript(data: unknown, file = 'the script'): Script {
  const problems: string[] = []
  script(data, (where, what) => problems.push(where === '' ? what : `${where} ${what}`))
  if (problems.length === 0) return data as Script
  throw new NerveError('bad-file', `${file} cannot be used: ${problems.join('; ')}. See docs/guide/gateway.md.`, {
    data: { problems },
  })
}

type Tell = (where: string, what: string) => void
type Check = (value: unknown, where: string, tell: Tell) => void

const text: Check = (value, where, tell) => {
  if (typeof value !== 'string') tell(where, `is ${show(value)}, not text`)
}
const pattern: Check = (value, where, tell) => {
  try {
    if (typeof value === 'string') new RegExp(value, 'i')
    else text(value, where, tell)
  } catch (error) {
    tell(where, `is no regular expression: ${(error as Error).message}`)
  }
}
const whole =
  (least: number): Check =>
  (value, where, tell) => {
    if (!Number.isInteger(value) || (value as number) < least)
      tell(where, `is ${show(value)}, not a whole number from ${least}`)
  }
const duration: Check = (value, where, tell) => {
  try {
    milliseconds(value as string)
  } catch {
    tell(where, `is ${show(value)}, not a duration such as 200ms or 2s`)
  }
}
const status: Check = (value, where, tell) => {
  if (!Number.isInteger(value) || (value as number) < 400 || (value as number) > 599)
    tell(where, `is ${show(value)}, not a status from 400 to 599`)
}
const oneOf =
  (words: readonly string[]): Check =>
  (value, where, tell) => {
    if (!words.includes(value as string)) tell(where, `is ${show(value)}, not one of ${words.join(', ')}`)
  }
const anything: Check = () => {}

function listOf(check: Check): Check {
  return (value, where, tell) => {
    if (!Array.isArray(value)) tell(where, `is ${show(value)}, not a list`)
    else for (const [index, one] of value.entries()) check(one, `${where}[${index}]`, tell)
  }
}

function fields(known: Readonly<Record<string, Check>>, needed: readonly string[] = []): Check {
  return (value, where, tell) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return tell(where, `is ${show(value)}, not fields`)
    for (const [name, one] of Object.entries(value)) {
      const at = where === '' ? name : `${where}.${name}`
      const check = Object.hasOwn(known, name) ? known[name] : undefined
      if (check !== undefined) check(one, at, tell)
      else tell(at, `is unknown${hint(name, Object.keys(known))}`)
    }
    for (const name of needed) if (!(name in value)) tell(where, `has no ${name}`)
  }
}

function hint(name: string, known: readonly string[]): string {
  const near = nearest(name, known)
  return near === undefined ? ` (known: ${known.join(', ')})` : ` (did you mean ${near}?)`
}

const pace = fields({ chunk: whole(1), delay: duration })
const usage = fields({
  input: whole(0),
  output: whole(0),
  cacheRead: whole(0),
  cacheWrite: whole(0),
  thinking: whole(0),
})
const failure = fields({ status, message: text, times: whole(1), retryAfter: duration, after: whole(0) }, ['status'])

const CALLS: Readonly<Record<string, Check>> = {
  sh: text,
  read: text,
  write: fields({ path: text, text }, ['path', 'text']),
  edit: fields({ path: text, old: text, new: text }, ['path', 'old', 'new']),
  ask: fields({ question: text, options: listOf(text) }, ['question', 'options']),
  tool: text,
}
const call: Check = (value, where, tell) => {
  fields({ ...CALLS, input: anything })(value, where, tell)
  const roles = Object.keys((value as object | null) ?? {}).filter((name) => name in CALLS)
  if (roles.length !== 1) tell(where, `calls ${roles.length} tools: give one of ${Object.keys(CALLS).join(', ')}`)
}

const STEP: Readonly<Record<string, Check>> = {
  think: text,
  say: text,
  call: (value, where, tell) => (Array.isArray(value) ? listOf(call) : call)(value, where, tell),
  fail: (value, where, tell) => (typeof value === 'object' ? failure : status)(value, where, tell),
  wait: duration,
  stream: pace,
  usage,
  stop: oneOf(['end', 'length', 'tool', 'stop-sequence', 'refused', 'paused']),
}
const step: Check = (value, where, tell) => {
  fields(STEP)(value, where, tell)
  answers(value, where, tell)
}
const rule: Check = (value, where, tell) => {
  const when = fields({ user: pattern, system: pattern, model: pattern, tool: pattern })
  fields({ ...STEP, when, steps: listOf(step) })(value, where, tell)
  const { steps } = (value ?? {}) as { steps?: unknown }
  if (steps === undefined) answers(value, where, tell)
  else if (Array.isArray(steps) && steps.length === 0) tell(`${where}.steps`, 'is empty')
}

function answers(value: unknown, where: string, tell: Tell): void {
  const given = Object.keys((value as object | null) ?? {})
  if (!['think', 'say', 'call', 'fail'].some((name) => given.includes(name)))
    tell(where, 'says nothing: give say, think, call or fail')
}

const script = (value: unknown, tell: Tell): void =>
  fields({ rules: listOf(rule), otherwise: step, side: text, models: listOf(text), stream: pace, usage }, ['rules'])(
    value,
    '',
    tell,
  )

function show(value: unknown): string {
  return value === undefined ? 'missing' : (JSON.stringify(value)?.slice(0, 60) ?? typeof value)
}

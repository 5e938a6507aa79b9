/** JSON from somebody else: nothing in it is changed silently, and nothing in it breaks who walks through it. */
import { isUtf8 } from 'node:buffer'
import { NerveError } from '../../base/nerve-error.ts'

/** More than values may have, and less than makes a function that calls itself for each level fail. */
const MOST_LEVELS = 600
const MOST_SHOWN = 60

/** `what` is what it came in: a line, the body. */
export function readJson(bytes: Buffer, what: string): unknown {
  if (!isUtf8(bytes)) throw new NerveError('bad-input', `${what} is not UTF-8.`)
  const text = bytes.toString('utf8')
  let found: unknown
  try {
    found = JSON.parse(text)
  } catch {
    throw new NerveError('bad-input', `${what} is not JSON: ${JSON.stringify(text.slice(0, MOST_SHOWN))}`)
  }
  if (isTooDeep(found)) throw new NerveError('bad-input', `${what} is nested deeper than ${MOST_LEVELS} levels.`)
  return found
}

function isTooDeep(value: unknown): boolean {
  let level: object[] = isObject(value) ? [value] : []
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > MOST_LEVELS) return true
    level = level.flatMap((one) => (Object.values(one) as unknown[]).filter(isObject))
  }
  return false
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

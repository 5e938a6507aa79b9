import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { NerveError, type ErrorCode } from '../../base/nerve-error.ts'
import { statusOf } from './http-status.ts'

const read = (file: string): string => readFileSync(new URL(`../../../docs/${file}`, import.meta.url), 'utf8')
/** Every code: docs/errors.md has a section for each (test/docs). */
const codes = [...read('errors.md').matchAll(/^### `([a-z-]+)`/gm)].map(([, code]) => code as ErrorCode)
const of = (code: ErrorCode, reason?: string): number => statusOf(new NerveError(code, 'x', { data: { reason } }))

it('every code has a status, and the guide says what it means', () => {
  const table = /\| status \| \|\n([^]*?)\n\n/.exec(read('guide/server.md'))?.[1] ?? ''
  const told = [...table.matchAll(/\b[45]\d\d\b/g)].map(([status]) => Number(status))
  expect(codes.length).toBeGreaterThan(40)
  for (const code of codes) expect({ code, told }).toEqual({ code, told: expect.arrayContaining([of(code)]) })
})

it('what is given wrongly is never a failure of the host', () => {
  const section = /^## Something was given wrong\n([^]*?)\n## /m.exec(read('errors.md'))?.[1] ?? ''
  const wrong = [...section.matchAll(/^### `(bad-[a-z]+)`/gm)].map(([, code]) => code as ErrorCode)
  // What a workflow returned was given by nobody who asks.
  const statuses = wrong.filter((code) => code !== 'bad-output').map((code) => [code, of(code)])
  expect(statuses.length).toBeGreaterThan(6)
  expect(statuses).toEqual(statuses.map(([code]) => [code, 400]))
})

it('a reason has a status of its own only where HTTP has one', () => {
  expect(of('not-allowed', 'token')).toBe(401)
  expect(of('not-allowed', 'host')).toBe(421)
  expect(of('not-allowed', 'shutdown')).toBe(403)
  expect(of('limit-reached', 'size')).toBe(413)
  // An answer that is too large for a node is no request that is too large.
  expect(of('http-failed', 'size')).toBe(502)
  expect(of('bad-input', 'constructor')).toBe(400)
})

it('an error that is not ours, or has a code of another version, is a failure of the host', () => {
  expect(statusOf(new Error('x'))).toBe(500)
  expect(of('of-tomorrow' as ErrorCode)).toBe(500)
  expect(of('constructor' as ErrorCode)).toBe(500)
})

import { describe, expect, it } from 'vitest'
import {
  assertNever,
  describe as describeValue,
  errorData,
  errorFrom,
  errorText,
  isNerveError,
  NerveError,
} from './nerve-error.ts'

describe('errors as data', () => {
  it('come back with their code, hint, data and causes', () => {
    const error = new NerveError('quota', 'slow down', {
      retry: 'pause',
      data: { until: 7 },
      cause: new TypeError('inner', { cause: 'text' }),
    })
    const again = errorFrom(structuredClone(errorData(error)))
    expect(again).toBeInstanceOf(NerveError)
    expect(again).toMatchObject({
      name: 'NerveError',
      code: 'quota',
      message: 'slow down',
      retry: 'pause',
      data: { until: 7 },
    })
    expect(again.cause).toMatchObject({ name: 'TypeError', message: 'inner' })
    expect((again.cause as Error).cause).toMatchObject({ message: 'text' })
  })

  it('keep name, code and the top of the stack of other errors', () => {
    const error = Object.assign(new RangeError('far'), { code: 'E_FAR' })
    const again = errorFrom(errorData(error))
    expect(again).not.toBeInstanceOf(NerveError)
    expect(again).toMatchObject({ name: 'RangeError', message: 'far', code: 'E_FAR' })
    expect(error.stack?.startsWith(again.stack ?? 'none')).toBe(true)
    expect(again.stack?.split('\n').length).toBeLessThan(12)
  })

  it('keep where an error of Nerve was thrown, for the line of an author that led to it', () => {
    const error = new NerveError('bad-duration', 'no')
    const again = errorFrom(structuredClone(errorData(error)))
    expect(again.stack).toContain('nerve-error.test.ts')
    expect(again.stack).toBe(errorFrom(errorData(again)).stack)
  })

  it('keep where it was also below a message of many lines', () => {
    const { stack = '' } = errorData(new Error('line\n'.repeat(50)))
    expect(stack).toContain('nerve-error.test.ts')
    expect(stack.split('\n').length).toBeLessThan(20)
  })

  it('are made of anything that is thrown', () => {
    expect(errorData('text')).toEqual({ name: 'Error', message: 'text' })
    expect(errorData({ a: 1 })).toEqual({ name: 'Error', message: '{"a":1}' })
    expect(errorData(undefined)).toEqual({ name: 'Error', message: 'undefined' })
    expect(errorData(10n)).toEqual({ name: 'Error', message: '10' })
  })

  it('stop at a depth of causes, and leave out data that JSON cannot hold', () => {
    const loop = new Error('loop')
    loop.cause = loop
    let data: { cause?: unknown } | undefined = errorData(loop)
    let depth = 0
    while (data?.cause !== undefined) {
      data = data.cause as { cause?: unknown }
      depth += 1
    }
    expect(depth).toBe(4)
    expect(errorData(new NerveError('quota', 'x', { data: { big: 1n } })).data).toBeUndefined()
  })
})

describe('what cannot be read as an error', () => {
  it('is data all the same', () => {
    const hostile = (): never => {
      throw new Error('look away')
    }
    const unreadable = { name: 'Error', message: 'something was thrown that cannot be read' }
    expect(errorData(new Proxy({}, { get: hostile, getPrototypeOf: hostile }))).toEqual(unreadable)
    expect(errorData(Object.defineProperty(new Error('x'), 'message', { get: hostile }))).toEqual(unreadable)
    expect(errorData(Object.assign(new Error('x'), { name: 1, message: { a: 1 }, stack: [] }))).toEqual({
      name: 'Error',
      message: '{"a":1}',
    })
  })
})

describe('why something failed', () => {
  const text = (error: unknown): string => errorText(errorData(error))

  it('is told with it, once', () => {
    const refused = new Error('connect ECONNREFUSED', { cause: new Error('no listener') })
    const failed = new TypeError('fetch failed', { cause: refused })
    expect(text(failed)).toBe('fetch failed: connect ECONNREFUSED: no listener')
    expect(text(new Error('Step a: fetch failed', { cause: failed }))).toBe(
      'Step a: fetch failed: connect ECONNREFUSED: no listener',
    )
  })

  it('is all that several errors say', () => {
    const both = [new Error('::1 refused'), new Error('127.0.0.1 refused')]
    expect(text(new AggregateError(both))).toBe('::1 refused; 127.0.0.1 refused')
    expect(text(new AggregateError(both, 'All failed'))).toBe('All failed: ::1 refused; 127.0.0.1 refused')
    expect(errorData(new AggregateError([new TypeError('one')], 'All failed')).cause).toMatchObject({
      name: 'TypeError',
    })
  })

  it('is the code or the name of one that says nothing', () => {
    expect(text(Object.assign(new Error(), { code: 'E_FAR' }))).toBe('E_FAR')
    expect(text(new RangeError())).toBe('RangeError')
  })
})

describe('isNerveError', () => {
  it('tells by class and code', () => {
    const error = new NerveError('timeout', 'late')
    expect(isNerveError(error)).toBe(true)
    expect(isNerveError(error, 'timeout')).toBe(true)
    expect(isNerveError(error, 'quota')).toBe(false)
    expect(isNerveError(new Error('late'))).toBe(false)
    expect(error.retry).toBe('never')
  })
})

describe('describe', () => {
  it('shows anything', () => {
    const cycle: { self?: unknown } = {}
    cycle.self = cycle
    expect([describeValue('a'), describeValue([1]), describeValue(cycle)]).toEqual(['a', '[1]', '[object Object]'])
    expect(() => assertNever('odd' as never, 'kind')).toThrow('unexpected kind: odd')
  })
})

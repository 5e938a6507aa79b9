/** Codec round trips: any value, any event. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeValue, encodeValue, fingerprint } from '../../src/base/value.ts'
import { decodeEvent, encodeEvent, INLINE_LIMIT, rowOf } from '../../src/journal/codec.ts'
import type { EventType, JournalEvent } from '../../src/journal/events.ts'
import { runs } from './settings.ts'

const leaf = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', '__proto__', 'toJSON', '$nerve', '\ud800', INLINE_LIMIT),
  fc.double(),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom(Number.NaN, Infinity, -Infinity, -0),
  fc.bigInt(),
  fc.date({ noInvalidDate: false }),
  fc.uint8Array({ maxLength: 20 }),
)
const key = fc.oneof(
  fc.string({ maxLength: 6 }),
  fc.constantFrom('__proto__', 'toJSON', '$nerve', 'v', 'constructor', '0', ''),
)

/** Values as authors may return them. Objects are made key by key, so that `__proto__` is one like any other. */
const value = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    leaf,
    fc.array(fc.oneof(tie('value'), fc.constant(undefined)), { maxLength: 5 }),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map(objectOf),
    fc.array(fc.tuple(tie('value'), tie('value')), { maxLength: 3 }).map((pairs) => new Map(pairs)),
    fc.array(tie('value'), { maxLength: 3 }).map((items) => new Set(items)),
  ),
})).value

function objectOf(pairs: readonly (readonly [string, unknown])[]): unknown {
  const made = {}
  for (const [name, item] of pairs)
    Object.defineProperty(made, name, { value: item, enumerable: true, writable: true, configurable: true })
  return made
}

const roundTrip = (one: unknown): unknown => {
  const { text, tagged } = encodeValue(one, 'a value')
  return decodeValue(text, tagged)
}

describe('a value', () => {
  it('comes back from its text as it was', () => {
    fc.assert(
      fc.property(value, (one) => {
        expect(isDeepStrictEqual(roundTrip(one), one)).toBe(true)
      }),
      runs(3_000),
    )
  })

  it('has a fingerprint that equal values share, whatever the order of their keys', () => {
    fc.assert(
      fc.property(fc.dictionary(key, leaf, { maxKeys: 6, noNullPrototype: true }), (one) => {
        const turned = objectOf(Object.entries(one).toReversed())
        expect(fingerprint(turned, 'a value')).toBe(fingerprint(one, 'a value'))
        expect(fingerprint(roundTrip(one), 'a value')).toBe(fingerprint(one, 'a value'))
      }),
      runs(1_000),
    )
  })

  it('has another fingerprint when it is another value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        fc.pre(JSON.stringify(one) !== JSON.stringify(other))
        const same = fingerprint(one, 'a value') === fingerprint(other, 'a value')
        if (same) expect(roundTrip(one)).toEqual(other)
        expect(fingerprint([one], 'a value')).not.toBe(fingerprint({ 0: one }, 'a value'))
      }),
      runs(1_000),
    )
  })
})

const path = fc.string({ minLength: 1, maxLength: 12 })
const error = fc.record(
  { name: fc.string(), message: fc.string(), code: fc.string(), stack: fc.string() },
  { requiredKeys: ['name', 'message'], noNullPrototype: true },
)
const usage = fc.record(
  { usd: fc.nat(), tokens: fc.nat(), window: fc.nat(1) },
  { requiredKeys: [], noNullPrototype: true },
)
const kept = value.filter((one) => one !== undefined)

type Fields<Event> = Event extends unknown ? keyof Event : never
type Shape<Type extends EventType> = {
  readonly [Key in Fields<Extract<JournalEvent, { type: Type }>>]: fc.Arbitrary<unknown>
}
type Shapes = { readonly [Type in EventType]: Partial<Shape<Type>> }

/** For each type of event its fields. A type that is missing here does not compile. */
const SHAPES: Shapes = {
  'run-created': {
    format: fc.constant(1),
    definition: path,
    input: kept,
    params: fc.dictionary(fc.string(), fc.string(), { noNullPrototype: true }),
    budget: usage,
    root: path,
    depth: fc.nat(),
  },
  'scope-opened': { path, after: path, kind: fc.constantFrom('all', 'map', 'race'), size: fc.nat() },
  'race-decided': { path, winner: fc.nat() },
  'step-started': {
    path,
    after: path,
    attempt: fc.nat(),
    effect: fc.constantFrom('once', 'resumable'),
    node: fc.record({ id: path, kind: path }, { noNullPrototype: true }),
    input: kept,
  },
  'step-completed': {
    path,
    attempt: fc.nat(),
    started: fc.nat(),
    output: kept,
    usage,
    active: fc.nat(),
    fingerprint: path,
  },
  'step-failed': { path, attempt: fc.nat(), started: fc.nat(), error, final: fc.boolean(), retryAt: fc.nat() },
  'step-skipped': { path, value: kept, error },
  'step-stopped': {
    path,
    attempt: fc.nat(),
    reason: fc.constantFrom('scope', 'budget', 'quota', 'cancel'),
    until: fc.nat(),
    error,
  },
  'step-kept': { path, attempt: fc.nat(), value: kept },
  'value-recorded': { path, value: kept },
  'timer-set': { path, until: fc.nat() },
  'timer-fired': { path },
  'question-asked': {
    path,
    id: path,
    kind: fc.constant('ask'),
    prompt: fc.string(),
    choices: fc.array(fc.string()),
    detail: kept,
    deadline: fc.nat(),
  },
  'question-answered': { path, id: path, value: kept, by: path, via: path },
  'question-expired': { path, id: path, action: fc.constantFrom('fail', 'cancel') },
  'question-withdrawn': { path, id: path },
  'signal-received': { name: path, value: kept, by: path },
  'wait-started': { path, name: path, deadline: fc.nat() },
  'signal-taken': { path, name: path, signal: fc.nat(), value: kept },
  'wait-expired': { path },
  'wait-withdrawn': { path },
  'messages-taken': { path, signals: fc.array(fc.nat()), value: fc.array(kept) },
  'child-started': { path, child: path, definition: path },
  'child-ended': { path, child: path, status: fc.constant('completed'), output: kept, error, usage },
  emitted: { path, name: path, data: kept },
  'checkpoint-recorded': { path, name: path, data: kept },
  'budget-warned': { dimension: fc.constant('usd'), used: fc.nat(), limit: fc.nat() },
  'budget-exhausted': { dimension: fc.constant('usd'), used: fc.nat(), limit: fc.nat(), of: path, path },
  'budget-raised': { budget: usage, by: path },
  'run-recovered': { owner: path, epoch: fc.nat() },
  'run-paused': { reason: fc.constantFrom('asked', 'diverged'), by: path },
  'run-resumed': { by: path, via: path },
  'interrupt-requested': { path, by: path },
  'cancel-requested': { reason: fc.string(), by: path },
  'plan-accepted': { forget: fc.array(path), ignore: fc.array(path) },
  'run-completed': { output: kept, failures: fc.nat() },
  'run-failed': { error },
  'run-cancelled': { reason: fc.string() },
}

/** Fields that an event may do without. */
const OPTIONAL = new Set(
  'after usage active fingerprint effect retryAt choices detail deadline by via params budget of reason value output data input'.split(
    ' ',
  ),
)

const event = fc.oneof(
  ...Object.entries(SHAPES).map(([type, fields]) => {
    const all: Record<string, fc.Arbitrary<unknown>> = { type: fc.constant(type), ...fields }
    const requiredKeys = Object.keys(all).filter((field) => !OPTIONAL.has(field))
    return fc.record(all, { requiredKeys, noNullPrototype: true })
  }),
) as unknown as fc.Arbitrary<JournalEvent>

describe('an event', () => {
  it('comes back from its row as it was', () => {
    fc.assert(
      fc.property(event, fc.nat(), fc.nat(), (one, seq, time) => {
        const row = encodeEvent(one, seq, time)
        expect(row).toMatchObject({ seq, time })
        expect(isDeepStrictEqual(decodeEvent(row), one)).toBe(true)
        expect(JSON.parse(row.data)).toMatchObject({ type: one.type })
      }),
      runs(4_000),
    )
  })

  it('has the same row when its text is made later', () => {
    fc.assert(
      fc.property(event, fc.nat(), fc.nat(), (one, seq, time) => {
        // Half of them at the time at which a step began, which is when the text can wait.
        const at = time % 2 === 0 && 'started' in one ? one.started : time
        const { data, blob, blobText } = rowOf(one, seq, at)
        expect({ seq, time: at, data, blob, blobText }).toEqual({ blob, blobText, ...encodeEvent(one, seq, at) })
      }),
      runs(4_000),
    )
  })

  it('keeps a large value beside the row, addressed by its content', () => {
    fc.assert(
      fc.property(kept, fc.integer({ min: 1, max: 3 }), (one, times) => {
        const output = [one, 'x'.repeat(times * INLINE_LIMIT)]
        const first = encodeEvent({ type: 'step-completed', path: 'a', attempt: 1, started: 0, output }, 1, 1)
        const second = encodeEvent({ type: 'run-completed', failures: 0, output }, 2, 2)
        expect(first.data.length).toBeLessThan(INLINE_LIMIT)
        expect(first.blob).toBe(second.blob)
        expect(isDeepStrictEqual((decodeEvent(first) as { output?: unknown }).output, output)).toBe(true)
      }),
      runs(40),
    )
  })
})

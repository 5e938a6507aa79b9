/** Specs: round trips without loss, expressions against a direct reading of them, and nothing but clear refusals. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { NerveError, createHost, defineNode } from 'nerve'
import { Branch, Loop, Map as MapNode, Parallel, Switch, While } from 'nerve/control'
import { graph, type Graph } from 'nerve/graph'
import { expr, fromSpec, parseSpec, template, toSpec } from 'nerve/spec'
import type { AnyRunnable } from '../../src/engine/definition.ts'
import { runs, within } from './settings.ts'

const count = defineNode('count', (value: unknown) => JSON.stringify(value ?? null).length)
const echo = defineNode('echo', (value: unknown) => value ?? null)
const NODES: readonly AnyRunnable[] = [count, echo]
const NAMES = new Map<string, AnyRunnable>([
  ['count', count],
  ['echo', echo],
])

const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown)
const tricky = fc.constantFrom(
  '${{',
  '$${{ x }}',
  '${{ not closed',
  '{{ }}',
  '}}',
  '__proto__',
  'true',
  '1',
  '~',
  ': ',
  '- a',
  '',
)
const data = fc.oneof(json, tricky, fc.record({ text: tricky, more: fc.array(json, { maxLength: 2 }) }))
const id = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a', 'b', 'step-c', 'd d', 'é', 'loop', 'in') },
  fc.constantFrom('10', '9', '0', 'constructor', 'true', '"quoted"', '${{'),
)

/** A number that every expression of a step can see, whatever ran before it. */
const seen = (before: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constantFrom('1', 'params.p', 'size(string(input))'),
    ...(before.length === 0
      ? []
      : [fc.constantFrom(...before).map((one) => `size(string(results[${JSON.stringify(one)}]))`)]),
  )

interface Built {
  readonly node: AnyRunnable | string
}

/** Anything that can be run, down to a depth. What it gives depends on what it is given. */
function runnable(depth: number): fc.Arbitrary<Built> {
  const leaf = fc.constantFrom<Built>({ node: count }, { node: echo }, { node: 'echo' })
  if (depth === 0) return leaf
  const inner = runnable(depth - 1)
  const times = fc.integer({ min: 1, max: 3 })
  const name = fc.option(id, { nil: undefined })
  const named = (own: string | undefined): { id?: string } => (own === undefined ? {} : { id: own })
  return fc.oneof(
    leaf,
    fc.tuple(inner, times, name, fc.boolean()).map(([{ node }, n, own, accumulate]) => ({
      node: Loop<AnyRunnable | string, boolean>({ ...named(own), body: node, times: n, accumulate }),
    })),
    fc.tuple(inner, times, name).map(([{ node }, n, own]) => ({
      node: While<AnyRunnable | string>({
        ...named(own),
        body: node,
        condition: expr(`iteration < ${n}`),
        maxIterations: 9,
      }),
    })),
    fc.tuple(inner, inner, times).map(([yes, no, n]) => ({
      node: Branch<AnyRunnable | string, AnyRunnable | string>({
        condition: expr(`size(string(input)) > ${n}`),
        then: yes.node,
        else: no.node,
      }),
    })),
    fc.tuple(inner, inner).map(([one, other]) => ({
      node: Switch({ key: expr('string(size(string(input)) % 2)'), cases: { 0: one.node }, default: other.node }),
    })),
    fc.tuple(inner, inner).map(([one, two]) => ({
      node: Parallel<Record<string, AnyRunnable | string>, 'all', unknown>({
        branches: { one: one.node, two: two.node },
        merge: expr('[results.two, results.one]'),
      }),
    })),
    inner.map(({ node }) => ({
      node: listed(MapNode<AnyRunnable | string>({ body: node, key: expr('string(index)') })),
    })),
    built(depth - 1).map((node) => ({ node })),
  )
}

/** A map takes a list, whatever it is given. */
function listed(map: AnyRunnable): AnyRunnable {
  return graph<unknown>('graph')
    .step('map', map, { inputFn: template(['${{ input }}', 'x']) })
    .returns(expr('results.map'))
}

function built(depth: number): fc.Arbitrary<Graph<unknown, Record<string, unknown>, unknown>> {
  return fc.uniqueArray(id, { minLength: 1, maxLength: 4 }).chain((ids) =>
    fc
      .tuple(
        fc.tuple(...ids.map((one, at) => step(one, ids.slice(0, at), depth))),
        fc.constantFrom('graph', 'inner'),
        fc.boolean(),
      )
      .map(([steps, name, returns]) => {
        const made = graph<unknown>(name, { params: { p: 3 } }) as unknown as Loose
        for (const { id: own, node, options } of steps) made.step(own, node, options)
        return (returns ? made.returns(expr(`results[${JSON.stringify(ids[0])}]`)) : made) as never
      }),
  )
}

interface Loose {
  step(id: string, node: AnyRunnable | string, options: object): void
  returns(make: unknown): unknown
}

function step(
  own: string,
  before: readonly string[],
  depth: number,
): fc.Arbitrary<{ id: string; node: AnyRunnable | string; options: object }> {
  return fc.subarray([...before]).chain((after) =>
    fc
      .record({
        node: runnable(depth),
        input: fc.oneof(
          data.map((input) => ({ input })),
          seen(after).map((text) => ({ inputFn: expr(text) })),
          fc
            .tuple(seen(after), data)
            .map(([text, more]) => ({ inputFn: template({ a: `is \${{ ${text} }}`, b: clean(more) }) })),
        ),
        when: fc.option(seen(after), { nil: undefined }),
        policy: fc.option(fc.constantFrom({ attempts: 2 }, { onError: { skip: null } }), { nil: undefined }),
      })
      .map(({ node: { node }, input, when, policy }) => ({
        id: own,
        node,
        options: {
          after,
          ...input,
          ...(when === undefined ? {} : { when: expr(`${when} > 1`) }),
          ...(policy === undefined ? {} : { policy }),
        },
      })),
  )
}

/** Data inside a template must not look like one. */
function clean(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll('{{', '(('))
}

async function ran(definition: Graph<unknown, Record<string, unknown>, unknown>): Promise<unknown> {
  const host = await createHost({ store: 'memory', definitions: NODES })
  try {
    const run = await host.start(definition, { n: 1 })
    const output: unknown = await run.result().catch((error: Error) => error.message.replace(run.id, 'RUN'))
    const paths = (await host.journal(run.id)).map(({ event }) => [event.type, 'path' in event ? event.path : ''])
    expect(await host.replay(run.id)).toMatchObject({ same: true })
    return { output, paths }
  } finally {
    await host.close()
  }
}

test('a graph goes to a spec and back without loss, and runs the same', async () => {
  await fc.assert(
    fc.asyncProperty(
      built(2),
      within(20, async (original) => {
        const spec = toSpec(original)
        const text = JSON.stringify(spec)
        expect(JSON.parse(text)).toEqual(spec)
        expect(parseSpec(text)).toEqual(spec)
        expect(parseSpec(stringify(spec))).toEqual(spec)
        const again = fromSpec(JSON.parse(text))
        expect(toSpec(again)).toEqual(spec)
        expect(Object.keys(again.steps().map(({ id: own }) => own))).toEqual(Object.keys(original.steps()))
        const bound = fromSpec(parseSpec(stringify(spec)), { names: NAMES })
        expect(toSpec(bound)).toEqual(spec)
        expect(again.order()).toEqual(original.order())
        expect(await ran(bound)).toEqual(await ran(original))
      }),
    ),
    runs(150),
  )
})

type Reference = { readonly text: string; readonly value: unknown }

const number: fc.Arbitrary<Reference> = fc.letrec<{ number: Reference; truth: Reference }>((tie) => ({
  number: fc.oneof(
    { maxDepth: 4 },
    fc.integer({ min: 0, max: 99 }).map((value) => ({ text: String(value), value })),
    fc.constant({ text: 'x', value: 7 }),
    fc.constant({ text: 'o["k k"][1]', value: 2.5 }),
    fc.tuple(tie('number'), fc.constantFrom('+', '-', '*'), tie('number')).map(([a, op, b]) => ({
      text: `(${a.text} ${op} ${b.text})`,
      value: calculate(op, Number(a.value), Number(b.value)),
    })),
    fc.tuple(tie('truth'), tie('number'), tie('number')).map(([when, a, b]) => ({
      text: `(${when.text} ? ${a.text} : ${b.text})`,
      value: when.value === true ? a.value : b.value,
    })),
    tie('number').map((a) => ({ text: `[${a.text}, 0].sum()`, value: a.value })),
    tie('number').map((a) => ({
      text: `size(l.filter(i, i < ${a.text}))`,
      value: [1, 5, 50].filter((i) => i < Number(a.value)).length,
    })),
  ),
  truth: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom({ text: 'true', value: true }, { text: 'has(o.none)', value: false }),
    fc.tuple(tie('number'), fc.constantFrom('<', '>=', '==', '!='), tie('number')).map(([a, op, b]) => ({
      text: `(${a.text} ${op} ${b.text})`,
      value: compare(op, Number(a.value), Number(b.value)),
    })),
    fc.tuple(tie('truth'), fc.constantFrom('&&', '||'), tie('truth')).map(([a, op, b]) => ({
      text: `(${a.text} ${op} ${b.text})`,
      value: op === '&&' ? a.value === true && b.value === true : a.value === true || b.value === true,
    })),
    tie('truth').map((a) => ({ text: `!${a.text}`, value: a.value !== true })),
    tie('number').map((a) => ({ text: `l.exists(i, i == ${a.text})`, value: [1, 5, 50].includes(Number(a.value)) })),
  ),
})).number

function calculate(op: string, a: number, b: number): number {
  return op === '+' ? a + b : op === '-' ? a - b : a * b
}

function compare(op: string, a: number, b: number): boolean {
  return op === '<' ? a < b : op === '>=' ? a >= b : op === '==' ? a === b : a !== b
}

test('expressions give what a direct reading of them gives', () => {
  const facts = { x: 7, o: { 'k k': [0, 2.5] }, l: [1, 5, 50] }
  fc.assert(
    fc.property(number, ({ text, value }) => {
      fc.pre(text.length < 1_500)
      expect(expr(text)(facts)).toBe(value)
    }),
    runs(1_000),
  )
})

test('whatever is given as an expression has a value or is refused with a reason', () => {
  const pieces = fc.constantFrom(
    'input',
    '.a',
    '[0]',
    '+',
    '==',
    '"x"',
    '1',
    '(',
    ')',
    '{',
    '}',
    ',',
    'x',
    '.map(x, ',
    'has(',
    '?',
    ':',
    '!',
    '-',
    '.?b',
    ' in ',
    'size(',
  )
  const text = fc.oneof(
    fc.string(),
    fc.array(pieces, { maxLength: 12 }).map((all) => all.join('')),
  )
  fc.assert(
    fc.property(text, json, (source, input) => {
      try {
        const value = expr(source)({ input })
        expect(value === undefined || JSON.stringify(value) !== undefined).toBe(true)
      } catch (error) {
        expect(error, source).toBeInstanceOf(NerveError)
        expect((error as NerveError).code).toBe('bad-expression')
      }
    }),
    runs(2_000),
  )
})

test('whatever is given as a spec is a graph or is refused with all reasons', () => {
  const valid = built(1).map((one) => JSON.parse(JSON.stringify(toSpec(one))) as unknown)
  const broken = fc
    .tuple(valid, fc.nat(), fc.oneof(json, fc.constant(undefined)))
    .map(([spec, at, value]) => change(spec, at, value))
  fc.assert(
    fc.property(fc.oneof(json, broken), (spec) => {
      try {
        fromSpec(spec, { names: NAMES })
      } catch (error) {
        expect(error).toBeInstanceOf(NerveError)
        expect((error as NerveError).data['problems']).not.toEqual([])
      }
    }),
    runs(500),
  )
})

/** Something in it replaced, or taken out. */
function change(spec: unknown, at: number, value: unknown): unknown {
  const places: { readonly holder: Record<string, unknown>; readonly key: string }[] = []
  const walk = (one: unknown): void => {
    if (typeof one !== 'object' || one === null) return
    for (const [key, inside] of Object.entries(one)) {
      places.push({ holder: one as Record<string, unknown>, key })
      walk(inside)
    }
  }
  walk(spec)
  const place = places[at % places.length]
  if (place === undefined) return spec
  if (value === undefined) delete place.holder[place.key]
  else place.holder[place.key] = value
  return spec
}

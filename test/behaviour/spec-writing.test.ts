/** Graphs written down as specs. */
import { describe, expect, it } from 'vitest'
import { defineNode, workflow, type NerveError } from 'nerve'
import { Loop, Map as MapNode, Subgraph, While } from 'nerve/control'
import { graph } from 'nerve/graph'
import { expr, fromSpec, jsonSchema, parseSpec, template, toSpec } from 'nerve/spec'
import type { AnyRunnable } from '../../src/engine/definition.ts'

const echo = defineNode('echo', (value: unknown) => value)
const add = defineNode('add', (n: number) => n + 1)
const double = defineNode('double', (n: number) => n * 2)
const hello = workflow('hello', (ctx, name: string) => ctx.step('say', () => `hello ${name}`))
const NAMES = new Map<string, AnyRunnable>([
  ['echo', echo],
  ['add', add],
  ['double', double],
  ['hello', hello],
])

describe('a graph as a spec', () => {
  it('goes there and back without loss', () => {
    const original = graph<{ n: number }>('whole', {
      description: 'all of it',
      input: jsonSchema<{ n: number }>({ type: 'object', required: ['n'] }),
      params: { a: 1 },
      budget: { usd: 2 },
      durability: 'power',
      maxParallel: 2,
      errorPolicy: 'continue',
    })
      .step('a', add, {
        inputFn: expr('input.n'),
        policy: { attempts: 2, backoff: { initial: '1s' }, onError: { skip: 1 } },
      })
      .step('b', echo, {
        after: ['a'],
        inputFn: template({ text: 'is ${{ results.a }}', $: '$${{ not }}' }),
        when: expr('results.a > 1'),
      })
      .step('c', While({ id: 'own', condition: expr('value < 9'), body: double, maxIterations: 3 }), { input: 1 })
      .step('d', Subgraph({ body: add, input: expr<number>('input.n') }), { handles: true, after: ['a'] })
      .step('e', graph<unknown>('inner').step('10', add, { input: 1 }).step('9', add, { input: 2 }), {
        input: { '${{': '${{ x }} $${{' },
      })
      .step(
        'f',
        MapNode({
          body: Loop<AnyRunnable>({
            body: graph<number>('graph').step('x', hello, { inputFn: expr('input') }),
            times: 2,
          }),
          key: expr('string(item)'),
        }),
      )
      .returns(expr('results.e'))
    const written = toSpec(original)
    expect(JSON.parse(JSON.stringify(written))).toEqual(written)
    expect(written).toMatchObject({
      nerve: 1,
      name: 'whole',
      input: { type: 'object', required: ['n'] },
      steps: {
        a: { node: 'add', input: '${{ input.n }}' },
        b: { input: { text: 'is ${{ results.a }}', $: '$${{ not }}' }, when: 'results.a > 1' },
        c: { node: { kind: 'while', id: 'own', while: 'value < 9', do: 'double', maxIterations: 3 } },
        d: { node: { kind: 'subgraph', do: 'add', input: 'input.n' }, handles: true },
        e: { graph: { name: 'inner', steps: [{ id: '10' }, { id: '9' }] }, input: { '${{': '$${{ x }} $$${{' } },
        f: {
          kind: 'map',
          do: { kind: 'loop', do: { graph: { steps: { x: { node: 'hello' } } } } },
          key: 'string(item)',
        },
      },
      output: 'results.e',
    })
    const again = fromSpec(parseSpec(JSON.stringify(written, undefined, 2)), { names: NAMES })
    expect(toSpec(again)).toEqual(written)
    expect(again.outline()).toEqual(original.outline())
    expect(again.options.input).toBeDefined()
    expect(again.steps().map(({ node }) => node)[0]).toBe(add)
    expect(again.steps()[4]?.input).toEqual({ '${{': '${{ x }} $${{' })
    expect(again.getStep('e')).toBeDefined()
  })

  it('says which steps cannot be written down, and why', () => {
    const bad = graph<number>('bad', {
      input: { '~standard': { version: 1, vendor: 'mine', validate: (value) => ({ value: value as number }) } },
    })
      .step('a', add, { inputFn: (_, { input }) => input })
      .step('b', add, { input: 1, parser: (n) => n })
      .step('c', echo, { input: { at: [new Date(0)] }, when: () => true })
      .step(
        'd',
        While<AnyRunnable>({
          condition: () => true,
          body: graph<number>('deep', { budget: { usd: 1 } }).step('x', add, { inputFn: () => 1 }),
        }),
      )
      .step('e', add, { input: 1, policy: { onError: { fallback: () => 1 } } })
      .returns(() => 1)
    const error = (() => {
      try {
        return toSpec(bad)
      } catch (thrown) {
        return thrown
      }
    })() as NerveError
    expect(error.code).toBe('bad-definition')
    expect(error.data['problems']).toEqual([
      "step 'a': its input is code: make it with expr(…).",
      "step 'b': it has a parser, which is a function.",
      "step 'c': input.at.0 is a Date, which JSON cannot hold.",
      "step 'c': its condition is code: make it with expr(…).",
      "step 'd': condition is code: make it with expr(…).",
      "step 'd/x': its input is code: make it with expr(…).",
      "step 'd': the graph has budget, which only a run can have.",
      "step 'e': policy.onError.fallback is a function, which JSON cannot hold.",
      'the schema of its input is code: make it with jsonSchema(…).',
      'what it returns is code: make it with expr(…).',
    ])
  })
})

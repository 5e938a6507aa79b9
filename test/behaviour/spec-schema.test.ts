/** The published JSON Schema: made of the code, and agreeing with what the code takes. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { fromSpec, parseSpec } from 'nerve/spec'
import { SCHEMA_FILE, schemaText } from '../../scripts/spec-schema.ts'
import { FUNCTION_NAMES, METHOD_NAMES } from '../../src/define/spec/expression-functions.ts'
import { FORMS } from '../../src/define/spec/forms.ts'
import { checkShape, resolverOf, type JsonSchema } from '../../src/base/json-schema.ts'
import { SPEC_FIELDS, STEP_FIELDS } from '../../src/define/spec/spec-schema.ts'

const SCHEMA = JSON.parse(readFileSync(SCHEMA_FILE, 'utf8')) as JsonSchema
const validates = (data: unknown): boolean =>
  checkShape(SCHEMA, data, { path: [], resolve: resolverOf(SCHEMA) }).length === 0

function reads(data: unknown): boolean {
  try {
    fromSpec(data)
    return true
  } catch {
    return false
  }
}

const steps = (one: unknown): unknown => ({ nerve: 1, name: 'x', steps: { one } })

/** A step with the least that each kind needs. */
const LEAST: Readonly<Record<string, Record<string, unknown>>> = {
  while: { while: 'value < 1', do: 'a' },
  loop: { do: 'a', times: 1 },
  branch: { if: 'input', then: 'a' },
  switch: { on: 'input', cases: { b: 'a' } },
  map: { do: 'a' },
  reduce: { do: 'a', initial: 0 },
  parallel: { branches: ['a'] },
  race: { branches: { b: 'a' } },
  gate: { prompt: 'a' },
  fork: { from: 'a', to: 'b' },
  subgraph: { do: 'a' },
  'agent-loop': { decide: 'a', act: 'b' },
  plan: { plan: 'a', nodes: ['b'] },
}

describe('the published schema', () => {
  it('is current: node scripts/spec-schema.ts', () => {
    expect(SCHEMA).toEqual(JSON.parse(schemaText()))
  })

  it('has every kind of control node', () => {
    expect(Object.keys(LEAST).toSorted()).toEqual(FORMS.map(({ kind }) => kind).toSorted())
  })

  it.each(FORMS.map((form) => [form.kind, form] as const))('takes a %s as a step, and in another', (kind, form) => {
    const least = { kind, ...LEAST[kind] }
    const taken = [
      steps(least),
      steps({ node: { ...least, id: 'own' } }),
      steps({ ...least, after: [], input: { a: 1 }, when: 'true', policy: { attempts: 2 }, handles: true }),
      steps({ kind: 'map', do: { graph: { steps: [{ id: 'deep', ...least }] } } }),
    ]
    for (const data of taken) expect([validates(data), reads(data)], JSON.stringify(data)).toEqual([true, true])
    const refused = [
      ...form.required.map((name) => steps({ ...least, [name]: undefined })),
      steps({ ...least, unheard: 1 }),
      ...Object.keys(form.fields)
        .filter((name) => !Object.hasOwn(STEP_FIELDS, name))
        .filter((name) => Object.keys(form.fields[name] as object).length > 0)
        .map((name) => steps({ ...least, [name]: [[5]] })),
    ].map((data) => JSON.parse(JSON.stringify(data)) as unknown)
    for (const data of refused) expect([validates(data), reads(data)], JSON.stringify(data)).toEqual([false, false])
  })

  it('a kind that its fields say can be left out, and reads as the same', () => {
    const { loop: _loop, map: _map, subgraph: _subgraph, parallel: _parallel, race: _race, ...clear } = LEAST
    for (const [kind, least] of Object.entries(clear)) {
      const [step] = fromSpec(steps(least)).steps()
      expect(step?.node, kind).toMatchObject({ kind, name: kind })
    }
    for (const unclear of [LEAST['map'], LEAST['race']])
      expect(() => fromSpec(steps(unclear))).toThrow(/could be several: say kind/u)
  })

  it.each([
    [{}],
    [{ nerve: 1, name: 'x' }],
    [{ nerve: 2, name: 'x', steps: { a: { node: 'b' } } }],
    [{ nerve: 1, name: 'x', steps: {} }],
    [{ nerve: 1, name: 'x', steps: [] }],
    [{ nerve: 1, name: 'x', steps: [{ node: 'b' }] }],
    [{ nerve: 1, name: 'x/y', steps: { a: { node: 'b' } } }],
    [{ nerve: 1, name: 'x', steps: { a: { node: 'b' } }, more: 1 }],
    [steps({ node: 5 })],
    [steps({ node: 'a', after: 5 })],
    [steps({ node: 'a', when: true })],
    [steps({ node: 'a', policy: { attempts: 1.5 } })],
    [steps({ node: 'a', policy: { timeout: 'soon' } })],
    [steps({ node: 'a', policy: { effect: 'twice' } })],
    [steps({ graph: {} })],
    [steps({})],
  ])('refuses %j', (data) => {
    expect([validates(data), reads(data)]).toEqual([false, false])
  })

  it.each([
    [{ $schema: './x.json', nerve: 1, name: 'x', nodes: './a.ts', steps: { a: { node: 'b' } } }],
    [
      {
        nerve: 1,
        name: 'x',
        nodes: ['./a.ts'],
        budget: { usd: 1 },
        durability: 'power',
        steps: [{ id: 'a', node: 'b' }],
      },
    ],
    [steps({ node: 'a', policy: { timeout: '2m', backoff: { initial: 5, jitter: 0.5 }, onError: { skip: null } } })],
  ])('takes %j', (data) => {
    expect([validates(data), reads(data)]).toEqual([true, true])
  })

  it('takes the example', () => {
    const text = readFileSync(new URL('../../examples/flow.yaml', import.meta.url), 'utf8')
    expect(validates(parseSpec(text))).toBe(true)
  })
})

describe('docs/guide/specs.md', () => {
  const page = readFileSync(new URL('../../docs/guide/specs.md', import.meta.url), 'utf8')

  it('has YAML that is valid', () => {
    const blocks = [...page.matchAll(/^```yaml\n([^]*?)^```$/gmu)].map((found) => found[1] ?? '')
    expect(blocks.length).toBeGreaterThan(0)
    for (const block of blocks) {
      const data = parseSpec(block)
      expect([validates(data), reads(data)]).toEqual([true, true])
    }
  })

  it('names every function and method of expressions, and every field of a spec and a step', () => {
    const names = [...FUNCTION_NAMES, ...METHOD_NAMES, ...Object.keys(SPEC_FIELDS), ...Object.keys(STEP_FIELDS)]
    const missing = names.filter((name) => !page.includes(`\`${name}`) && !page.includes(`${name}(`))
    expect(missing.filter((name) => name !== '$schema')).toEqual([])
  })
})

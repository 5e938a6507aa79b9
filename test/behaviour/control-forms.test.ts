/** Control nodes as data: what is written reads back as the same, and what cannot be written is told. */
import { describe, expect, it } from 'vitest'
import { defineNode, workflow, type Schema } from 'nerve'
import { Branch, Gate, Loop, Map as MapNode, Subgraph, type ControlNode } from 'nerve/control'
import { CONTROL_FORMS } from '../../src/define/control/forms.ts'
import type { AnyDefinition, AnyRunnable } from '../../src/engine/definition.ts'
import { isNode } from '../../src/engine/run-node.ts'
import { sourceOf, type SpecReader, type SpecWriter } from '../../src/define/control/control.ts'
import { mermaid, outlineText } from '../../src/define/outline.ts'
import { expr } from '../../src/define/spec/expression.ts'
import { jsonSchema, jsonSchemaOf } from '../../src/define/spec/input-schema.ts'
import { events, everywhere } from './control-stage.ts'
import { openStage, rejection, timePasses } from './stage.ts'

type Data = Readonly<Record<string, unknown>>

const reader: SpecReader = {
  node: (data) => (typeof data === 'string' ? data : read(data as Data)),
  expression: (text) => expr(String(text)),
  schema: (data) => jsonSchema(data as Data),
}

function read(data: Data): AnyDefinition {
  const form = CONTROL_FORMS.find(({ kind }) => kind === data['kind'])
  if (form === undefined) throw new Error(`no form ${String(data['kind'])}`)
  expect(Object.keys(data).filter((key) => key !== 'kind' && key !== 'id' && !(key in form.fields))).toEqual([])
  expect(form.required.filter((key) => !(key in data))).toEqual([])
  return form.read(data, reader)
}

/** What a node is as data, and what of it cannot be written down. */
function written(definition: AnyDefinition): { readonly data: Data; readonly lost: readonly string[] } {
  const lost: string[] = []
  const writer: SpecWriter = {
    node: (node) => (typeof node === 'string' ? node : isNode(node) ? node.id : one(node)),
    expression(what, make) {
      const text = sourceOf(make)
      if (text === undefined) lost.push(what)
      return text
    },
    schema(what, schema) {
      const source = jsonSchemaOf(schema)
      if (source === undefined) lost.push(what)
      return source
    },
  }
  const one = (node: AnyRunnable): Data => {
    const { write, kind, name } = node as ControlNode
    return { kind, id: name, ...write?.(writer) }
  }
  return { data: one(definition), lost }
}

const double = defineNode('double', (n: number) => n * 2)
const add = defineNode('add', (one: { accumulator: number; item: number }) => one.accumulator + one.item)
const odd = defineNode('odd', (n: number) => {
  if (n % 2 === 1) throw new Error(`${n} is odd`)
  return n
})

/** One of each, with what it gives for an input. */
const CASES: readonly (readonly [Data, unknown, unknown])[] = [
  [
    { kind: 'while', id: 'w', while: 'value < 20 && iteration < params.most', do: 'double', maxIterations: 9 },
    3,
    { value: 24, iterations: 3, ended: 'condition' },
  ],
  [
    { kind: 'loop', id: 'l', times: 3, accumulate: true, do: 'double' },
    1,
    { value: [2, 4, 8], iterations: 3, ended: 'times' },
  ],
  [
    { kind: 'loop', id: 'l', maxIterations: 4, until: 'size(history) == 2', do: 'double' },
    1,
    { value: 4, iterations: 2, ended: 'condition' },
  ],
  [
    {
      kind: 'branch',
      id: 'b',
      if: 'input > params.most',
      then: 'double',
      else: { kind: 'loop', id: 'l', times: 1, do: 'double' },
    },
    9,
    18,
  ],
  [{ kind: 'branch', id: 'b', if: 'input > 10', then: 'double' }, 9, 9],
  [{ kind: 'switch', id: 's', on: 'input > 5 ? "large" : "small"', cases: { large: 'double', small: 'odd' } }, 9, 18],
  [{ kind: 'switch', id: 's', on: 'input', cases: { 4: 'odd' }, default: 'double' }, 9, 18],
  [{ kind: 'map', id: 'm', do: 'double', concurrency: 2, key: '"n" + string(item)' }, [1, 2], [2, 4]],
  [{ kind: 'map', id: 'm', do: 'odd', onError: 'skip' }, [1, 2], [undefined, 2]],
  [{ kind: 'reduce', id: 'r', do: 'add', initial: 10 }, [1, 2], 13],
  [{ kind: 'parallel', id: 'p', branches: { a: 'double', b: 'odd' } }, 4, { a: 8, b: 4 }],
  [
    { kind: 'parallel', id: 'p', branches: ['double', 'odd'], mode: 'settle', merge: '{"all": results, "of": input}' },
    4,
    {
      all: [
        { status: 'done', value: 8 },
        { status: 'done', value: 4 },
      ],
      of: 4,
    },
  ],
  [{ kind: 'race', id: 'r', branches: { only: 'double' } }, 4, { winner: 'only', value: 8 }],
  [
    {
      kind: 'gate',
      id: 'g',
      prompt: { expression: '"Is " + string(input) + " good?"' },
      choices: ['yes', 'no'],
      deadline: '1h',
      default: 'no',
    },
    4,
    'no',
  ],
  [{ kind: 'gate', id: 'g', prompt: 'How many?', schema: { type: 'integer' }, deadline: 5, default: 7 }, undefined, 7],
  [
    { kind: 'subgraph', id: 's', do: 'double', input: 'input.n', output: '{"n": output, "was": input.n}' },
    { n: 4 },
    { n: 8, was: 4 },
  ],
]

describe('control nodes as data', () => {
  it.each(CASES)('%j does what it says, and reads back as itself', async (data, input, result) => {
    const { host, clock } = await openStage()
    host.register(double, add, odd)
    const made = read(data)
    expect(written(made)).toEqual({ data, lost: [] })
    const around = workflow('around', { params: { most: 8 } }, (ctx, given: unknown) => ctx.run(made, given))
    expect(await timePasses(clock, everywhere(host, around, input))).toEqual(result)
  })

  it('has a case here for every form', () => {
    const tried = new Set([...CASES.map(([data]) => data['kind']), 'fork'])
    expect(CONTROL_FORMS.map(({ kind }) => kind).filter((kind) => !tried.has(kind))).toEqual([])
  })

  it('forks by name', async () => {
    const { host } = await openStage()
    const same = (id: string): typeof double => defineNode(id, (n: number) => n, { fork: same })
    host.register(same('same'))
    const data = { kind: 'fork', id: 'f', from: 'same', to: 'same-{run_id}' }
    expect(written(read(data))).toEqual({ data, lost: [] })
    const run = await host.start(read(data))
    expect(await run.result()).toMatchObject({ node: `same-${run.id}`, forkedFrom: 'same' })
  })

  it('records nothing for expressions, which give the same again', async () => {
    const { host } = await openStage()
    host.register(double)
    const run = await host.start(read({ kind: 'loop', id: 'l', until: 'value > 3', do: 'double' }), 1)
    await run.result()
    const steps = (await events(host, run.id)).flatMap((event) => (event.type === 'step-completed' ? [event.path] : []))
    expect(steps).toEqual(['1/double', '2/double'])
  })

  it('a condition that is neither true nor false is an error', async () => {
    const { host } = await openStage()
    host.register(double)
    for (const data of [
      { kind: 'while', while: 'value', do: 'double' },
      { kind: 'loop', until: 'value', do: 'double' },
      { kind: 'branch', if: '"false"', then: 'double' },
    ]) {
      const run = await host.start(read(data), 1)
      expect((await rejection(run.result())).message).toMatch(
        /The condition (value|"false") gives (1|2|false), not true or false/u,
      )
    }
  })

  it('says what cannot be written down', () => {
    const schema: Schema<number> = { '~standard': { version: 1, vendor: 'test', validate: () => ({ value: 1 }) } }
    const code = Branch({
      condition: () => true,
      then: MapNode({ body: Subgraph({ body: double, input: (n: number) => n, output: (n) => n }), key: String }),
      else: Loop({ body: Gate({ prompt: () => 'x', schema }), until: () => true }) as never,
    })
    expect(written(code).lost).toEqual(['condition', 'input', 'output', 'key', 'until', 'prompt', 'schema'])
  })
})

describe('what they look like', () => {
  it('as text and as Mermaid', () => {
    const choice = read({
      kind: 'switch',
      id: 'triage',
      on: 'input.kind',
      cases: {
        bug: { kind: 'loop', id: 'fix', times: 3, until: 'value.ok', do: 'double' },
        ask: { kind: 'gate', prompt: 'What?' },
      },
      default: 'double',
    })
    const outline = (choice as ControlNode).outline()
    expect(outlineText(outline)).toBe(
      [
        'triage (switch)',
        '  key (choice, input.kind)',
        '  case bug (loop, fix, 3 times, until value.ok)',
        '    body (by name, double)',
        '  case ask (gate, What?)',
        '  default (by name, double)',
        '  key → case bug when bug',
        '  key → case ask when ask',
        '  key → default when default',
      ].join('\n'),
    )
    expect(mermaid(outline)).toContain('n1{"key<br/>choice, input.kind"}')
    expect(mermaid(outline)).toContain('n1 -- "bug" --> n2')
  })
})

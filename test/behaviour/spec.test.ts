/** Graphs and control nodes as data. */
import { describe, expect, it } from 'vitest'
import { NerveError, defineNode, workflow } from 'nerve'
import { fromSpec, jsonSchema, parseSpec, type Spec, type SpecProblem } from 'nerve/spec'
import type { AnyRunnable } from '../../src/engine/definition.ts'
import { isNode } from '../../src/engine/run-node.ts'
import { openStage, rejection, timePasses } from './stage.ts'

const echo = defineNode('echo', (value: unknown) => value)
const add = defineNode('add', (n: number) => n + 1)
const double = defineNode('double', (n: number) => n * 2)
const sum = defineNode('sum', ({ accumulator, item }: { accumulator: number; item: number }) => accumulator + item)
const fails = defineNode('fails', (text: string): string => {
  throw new Error(text)
})
const chat = defineNode('chat', (n: number) => n, {
  persistent: true,
  fork: (id) => defineNode(id, (n: number) => n * 100, { persistent: true }),
})
const hello = workflow('hello', (ctx, name: string) => ctx.step('say', () => `hello ${name}`))
const NAMES = new Map<string, AnyRunnable>(
  [echo, add, double, sum, fails, chat, hello].map((one) => [isNode(one) ? one.id : one.name, one]),
)

const spec = (steps: Spec['steps'], more: Partial<Spec> = {}): Spec => ({ nerve: 1, name: 'spec', ...more, steps })

async function run(data: unknown, input?: unknown, params?: Record<string, unknown>): Promise<unknown> {
  const { host, clock } = await openStage()
  const made = fromSpec(data, { names: NAMES })
  const started = await host.start(made, input, params === undefined ? {} : { params })
  const result: unknown = await timePasses(clock, started.result())
  expect(await host.replay(started.id)).toMatchObject({ same: true })
  return result
}

function problemsOf(make: () => unknown): readonly SpecProblem[] {
  try {
    make()
  } catch (error) {
    if (error instanceof NerveError) return error.data['problems'] as readonly SpecProblem[]
    throw error
  }
  return []
}

const told = (make: () => unknown): string[] =>
  problemsOf(make).map(({ line, column, path, message }) =>
    [line === undefined ? path.join('.') : `${line}:${column}`, message].join(' '),
  )

describe('a spec', () => {
  it('runs steps of named nodes, with expressions for inputs, conditions and the output', async () => {
    const data = parseSpec(
      `
nerve: 1
name: numbers
params: { most: 10 }
steps:
  first: { node: add, input: "\${{ input.n }}" }
  many:  { node: double, after: first, when: results.first > params.most, input: "\${{ results.first }}" }
  few:   { node: double, after: [first], when: results.first <= params.most, input: "\${{ results.first }}" }
  last:
    node: echo
    after: [many, few]
    input: { text: "many \${{ results.many }}, few \${{ results.few }}", list: ["\${{ results.few }}", {"{{": 1}] }
output: results.last
`,
      { file: 'numbers.yaml' },
    )
    expect(await run(data, { n: 4 })).toEqual({ text: 'many null, few 10', list: [10, { '{{': 1 }] })
    expect(await run(data, { n: 4 }, { most: 1 })).toEqual({ text: 'many 10, few null', list: [null, { '{{': 1 }] })
  })

  it('runs every control node, beside the fields of a step or under node, with graphs in them', async () => {
    const inner = { graph: { steps: { a: { node: 'add', input: '${{ input }}' } }, output: 'results.a' } }
    const data = spec({
      while: { while: 'value < 10', do: 'double', input: 3 },
      loop: { times: 2, do: 'add', accumulate: true, input: 1 },
      branch: { if: 'input > params.limit', then: 'double', else: inner, input: 4 },
      switch: { on: 'input.kind', cases: { a: 'echo' }, default: 'fails', input: { kind: 'a' } },
      map: { kind: 'map', do: inner, input: [1, 2] },
      reduce: { do: 'sum', initial: 10, input: [1, 2] },
      parallel: {
        kind: 'parallel',
        branches: { one: 'add', two: 'double' },
        merge: 'results.one + results.two',
        input: 3,
      },
      race: { kind: 'race', branches: ['add'], input: 3 },
      fork: { from: 'chat', to: 'chat-b', input: 1 },
      forked: { node: 'chat-b', after: 'fork', input: 2 },
      subgraph: { node: { kind: 'subgraph', do: 'add', input: 'input.n', output: '{"n": output}' }, input: { n: 1 } },
      graph: {
        graph: { steps: { one: inner.graph.steps.a, two: { ...inner, after: 'one', input: '${{ results.one }}' } } },
        input: 0,
      },
      workflow: { node: 'hello', input: 'Ada' },
      agent: { decide: 'hello', act: 'echo', maxIterations: 1, input: 'x' },
    })
    const results = (await run(data, undefined, { limit: 5 })) as Record<string, unknown>
    const { fork, agent, ...rest } = results
    expect(rest).toEqual({
      while: { value: 12, iterations: 2, ended: 'condition' },
      loop: { value: [2, 3], iterations: 2, ended: 'times' },
      branch: 5,
      switch: { kind: 'a' },
      map: [2, 3],
      reduce: 13,
      parallel: 10,
      race: { winner: 0, value: 4 },
      forked: 200,
      subgraph: { n: 2 },
      graph: { one: 1, two: 2 },
      workflow: 'hello Ada',
    })
    expect(fork).toBeDefined()
    expect(agent).toMatchObject({ ended: 'limit', iterations: 1 })
  })

  it('asks with a text made of expressions', async () => {
    const { host } = await openStage()
    const ask = { kind: 'gate', prompt: 'Take ${{ input.n }} of $${{ x }}?', choices: ['yes', 'no'], input: { n: 3 } }
    const made = fromSpec(spec({ ask }), { names: NAMES })
    const started = await host.start(made)
    await started.rest()
    const [question] = await host.inbox()
    expect(question).toMatchObject({ prompt: 'Take 3 of ${{ x }}?', path: 'ask/gate', choices: ['yes', 'no'] })
    await host.answer(question?.id ?? '', 'yes')
    expect(await started.result()).toEqual({ ask: 'yes' })
  })

  it('has policies, steps that handle failures, and graphs that go on after them', async () => {
    const data = spec(
      {
        bad: { node: 'fails', input: 'broken', policy: { attempts: 2, backoff: '1ms' } },
        skipped: { node: 'fails', input: 'no', policy: { onError: { skip: 7 } } },
        told: { node: 'echo', after: ['bad'], handles: true, input: '${{ errors.bad.message }}' },
      },
      { errorPolicy: 'skip', maxParallel: 1 },
    )
    expect(await run(data)).toEqual({ skipped: 7, told: 'broken' })
  })

  it('checks its input before a run starts', async () => {
    const { host } = await openStage()
    const input = {
      type: 'object',
      properties: { n: { type: 'integer', minimum: 1 } },
      required: ['n'],
      additionalProperties: false,
    }
    const made = fromSpec(spec({ a: { node: 'add', input: '${{ input.n }}' } }, { input }), { names: NAMES })
    const error = await rejection(host.start(made, { n: 0, m: 1 }))
    expect(error).toMatchObject({
      code: 'bad-input',
      data: {
        issues: [expect.stringContaining('n: should be at least 1'), expect.stringContaining('m: is not a field')],
      },
    })
    expect(await host.runs()).toEqual([])
  })

  it('a condition that is neither true nor false fails its step', async () => {
    const { host } = await openStage()
    const made = fromSpec(spec({ a: { node: 'add', input: 1, when: 'params.go' } }, { params: { go: 'false' } }), {
      names: NAMES,
    })
    const error = await rejection((await host.start(made)).result())
    expect(error.message).toMatch(/params.go.*false.*not true or false/u)
  })

  it('looks names up when it runs, when it is given none', async () => {
    const { host } = await openStage({ definitions: [add] })
    const made = fromSpec(spec({ a: { node: 'add', input: 1 }, b: { node: 'nobody' } }))
    expect((await rejection(host.start(made))).message).toContain("refers to the node 'nobody'")
    expect(await (await host.start(fromSpec(spec({ a: { node: 'add', input: 1 } })))).result()).toEqual({ a: 2 })
  })
})

describe('what is wrong with a spec', () => {
  it('is told all at once, with line and column', () => {
    const text = `nerve: 2
nmae: x
maxParallel: none
steps:
  a: { node: ad, input: "\${{ inptu }}" }
  b: { after: [a, q], while: "valeu < 1", do: doubel }
  c: { node: echo, inptu: 1, when: "results.a ==" }
  d: { node: echo, input: { deep: ["x \${{ results.b }}"] } }
  e: {}
  f: { kind: lop, do: add }
  g: { do: add }
  h: { node: echo, policy: { attempts: 0, onError: maybe } }
  i: { node: echo, after: i }
  j: { node: echo, after: k }
  k: { node: echo, after: j }
  l: 5
output: results.z
`
    expect(told(() => fromSpec(parseSpec(text, { file: 'x.yaml' }), { names: NAMES }))).toEqual([
      "1:1 has no 'name'.",
      '1:8 should be 1, not 2.',
      "2:1 is not a field here. Did you mean 'name'?",
      '3:14 should be a whole number, not "none".',
      "5:14 there is no node 'ad'. Did you mean 'add'?",
      "5:30 'inptu' is not known here. Did you mean 'input'? Known: input, params, results, errors.",
      "6:15 there is no step 'q'.",
      "6:31 'valeu' is not known here. Did you mean 'value'? Known: iteration, value, history, params.",
      "6:47 there is no node 'doubel'. Did you mean 'double'?",
      "7:20 is not a field here. Did you mean 'input'?",
      '7:49 It ends too early.',
      "8:43 the result of 'b' is not known here: add 'b' to after.",
      expect.stringMatching(/^9:6 has nothing to run: give node, graph, or a kind/u),
      '10:6 there is no kind "lop". Did you mean \'loop\'?',
      '11:6 could be several: say kind: loop, or map, or subgraph.',
      '12:40 should be at least 1, not 0.',
      '12:52 should be "fail", or an object, not "maybe".',
      "13:3 step 'i' comes after itself.",
      "14:3 these steps wait for each other in a cycle: 'j' → 'k' → 'j'.",
      "16:6 should be an object, such as { node: 'name' }.",
      "17:9 there is no step 'z'.",
    ])
    const error = (() => {
      try {
        return fromSpec(parseSpec(text, { file: 'x.yaml' }), { names: NAMES })
      } catch (thrown) {
        return thrown as NerveError
      }
    })() as NerveError
    expect(error.code).toBe('bad-definition')
    expect(error.message).toContain("\nx.yaml:6:31: steps.b.while: 'valeu' is not known here.")
  })

  it('JSON has lines and columns too', () => {
    const text =
      '{\n\t"nerve": 1,\n\t"name": "j",\n\t"steps": [\n\t\t{ "id": "a", "node": "ad" },\n\t\t{ "id": "a", "nod": "add" }\n\t]\n}\n'
    expect(told(() => fromSpec(parseSpec(text), { names: NAMES }))).toEqual([
      "5:24 there is no node 'ad'. Did you mean 'add'?",
      expect.stringMatching(/^6:3 has nothing to run/u),
      "6:3 two steps have the id 'a'.",
    ])
    expect(told(() => parseSpec('{"nerve": 1,\n "name": }}', { file: 'j.json' }))).toEqual([
      expect.stringMatching(/^2:\d+ /u),
    ])
  })

  it('data without a text has paths', () => {
    expect(
      told(() => fromSpec({ nerve: 1, name: 'x', steps: { a: { node: 'add', input: { b: ['${{ c }}'] } } } })),
    ).toEqual(["steps.a.input.b.0 'c' is not known here. Known: input, params, results, errors."])
    for (const data of [null, undefined, 'text', 5, []])
      expect(told(() => fromSpec(data))).toEqual([expect.stringContaining('a spec is an object')])
    expect(told(() => fromSpec({ nerve: 1, name: 'x', steps: {} }))).toEqual([
      'steps it has no steps. Add one: step(id, node).',
    ])
    expect(told(() => fromSpec({ nerve: 1, name: 'x', steps: 5 }))).toEqual([
      expect.stringContaining('steps should be an object of steps'),
    ])
    expect(told(() => fromSpec({ nerve: 1, name: 'a/b', steps: { 'a#': { node: 'x' } } }))).toEqual([
      expect.stringContaining('name "a/b" is not a name'),
      expect.stringContaining('is not an id for a step'),
    ])
  })

  it('what shows only when it is put together is told at its step', () => {
    const data = parseSpec(
      'nerve: 1\nname: x\nsteps:\n  a: { kind: loop, do: add }\n  b: { node: { kind: gate, prompt: a, onDeadline: fail } }\n',
    )
    expect(told(() => fromSpec(data))).toEqual([
      expect.stringMatching(/^4:\d+ loop 'loop': it has neither times nor until/u),
      expect.stringMatching(/^5:\d+ gate 'gate': it has onDeadline without a deadline/u),
    ])
    const overlap = parseSpec(
      'nerve: 1\nname: x\nsteps:\n  a: { node: chat, input: 1 }\n  b: { node: chat, input: 1 }\n',
    )
    expect(told(() => fromSpec(overlap, { names: NAMES }))).toEqual([
      expect.stringMatching(/^4:\d+ steps 'a' and 'b' could use the persistent node 'chat'/u),
    ])
  })

  it('schemas say which of their keywords are not checked', () => {
    const input = {
      type: 'object',
      propertis: {},
      properties: { a: { multipleOf: 2 }, b: { $ref: '#/$defs/c' }, c: { pattern: '(' } },
    }
    expect(told(() => fromSpec(spec({ a: { node: 'add' } }, { input })))).toEqual([
      "input.propertis is not a keyword that is checked. Did you mean 'properties'?",
      'input.properties.a.multipleOf is not a keyword that is checked.',
      'input.properties.b.$ref refers to nothing in this schema.',
      'input.properties.c.pattern is not a pattern.',
    ])
    expect(() => jsonSchema({ type: 'object', wrong: 1 })).toThrow(/schema.wrong is not a keyword/u)
  })

  it('what is nested is looked at once', () => {
    let deep: unknown = 'add'
    for (let depth = 0; depth < 25; depth += 1) deep = { kind: 'parallel', branches: [deep] }
    const began = performance.now()
    expect(fromSpec(spec({ a: { node: deep } })).order()).toEqual(['a'])
    expect(performance.now() - began).toBeLessThan(1_000)
    for (let depth = 0; depth < 25; depth += 1) deep = { kind: 'parallel', branches: [deep] }
    expect(told(() => fromSpec(spec({ a: { node: deep } })))).toEqual([expect.stringContaining('is nested too deep')])
  })

  it('a text that means harm is refused, quickly', () => {
    const bomb = `a: &a [x, x, x, x, x, x, x, x, x]\n${'bcdefghij'
      .split('')
      .map((name, at) => `${name}: &${name} [${Array.from({ length: 9 }, () => `*${'abcdefghij'[at]}`).join(', ')}]`)
      .join('\n')}`
    const texts = [
      bomb,
      '['.repeat(50_000),
      `x: ${'y'.repeat(1_000_001)}`,
      '!!js/function "function () { return 1 }"',
      'a: 1\na: 2',
      'a: 1\n---\nb: 2',
      `nerve: 1\nname: x\nsteps: ${'{ a: { graph: { steps: '.repeat(40)}{}${'} } }'.repeat(40)}`,
    ]
    for (const text of texts) {
      const began = performance.now()
      expect(told(() => fromSpec(parseSpec(text))).length, text.slice(0, 40)).toBeGreaterThan(0)
      expect(performance.now() - began).toBeLessThan(5_000)
    }
  })
})

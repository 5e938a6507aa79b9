/** Specs from the command line: run, explain, validate, and what happens after a crash. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { jsonLines, project, type Project } from './nerve.ts'
import * as files from './workflows.ts'

let here: Project
afterEach(() => here.remove())

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url))

const NODES = `
import { appendFileSync, existsSync } from 'node:fs'
import { defineNode } from 'nerve'
const note = (text: string) => appendFileSync('effects.txt', text + '\\n')
export const add = defineNode('add', (n: number) => { note('add'); return n + 1 })
export const slow = defineNode('slow', async (n: number) => {
  note('slow')
  console.log('holding')
  while (!existsSync('go')) await new Promise((resolve) => setTimeout(resolve, 20))
  return n * 10
})
`
const FLOW = `nerve: 1
name: flow
nodes: ./nodes.ts
params: { by: 1 }
steps:
  first: { node: add, input: "\${{ input.n }}" }
  hold:  { node: slow, after: first, input: "\${{ results.first }}" }
  ask:   { kind: gate, after: hold, prompt: "Is \${{ input }} right?", choices: [yes, no], input: "\${{ results.hold }}" }
output: '{"answer": results.ask, "n": results.hold + params.by}'
`
const BAD = FLOW.replace('node: slow', 'node: solw')
  .replace('after: hold,', 'after: hodl,')
  .replace('output:', 'outptu:')

const GRAPHS = `
import { defineNode, workflow } from 'nerve'
import { Loop } from 'nerve/control'
import { graph } from 'nerve/graph'
const add = defineNode('add', (n: number) => n + 1)
export default graph<number>('sums', { errorPolicy: 'skip', description: 'adds' })
  .step('one', add, { inputFn: (_, { input }) => input })
  .step('many', Loop({ body: add, times: 3 }), { after: ['one'], inputFn: ({ one }) => one })
export const turns = Loop({ id: 'turns', body: add, times: 2 })
export const plain = workflow('plain', (ctx) => ctx.step('a', () => 1))
`

const open = (more: Readonly<Record<string, string>> = {}): Project => (here = project(more))

describe('run', () => {
  test('a spec runs with the nodes of its file, and asks', async () => {
    const { nerve, write, effects } = open({ 'nodes.ts': NODES, 'flow.yaml': FLOW })
    write('go', '')
    const parked = await nerve(['run', 'flow.yaml', '--input', '{"n":1}', '--param', 'by=5'])
    expect(parked).toMatchObject({ code: 3, err: '' })
    expect(parked.out).toContain('Is 20 right?')
    const { code, out } = await nerve(['answer', 'last', 'yes', '--json'])
    expect(code).toBe(0)
    expect(jsonLines(out).at(-1)).toMatchObject({ status: 'completed', output: { answer: 'yes', n: 25 } })
    expect(effects()).toEqual(['add', 'slow'])
    expect((await nerve(['replay', 'last'])).code).toBe(0)
    expect((await nerve(['replay', 'last', 'flow.yaml'])).code).toBe(0)
  })

  test('after kill -9 it goes on from its file, and finished steps are not run again', async () => {
    const { start, nerve, write, effects } = open({ 'nodes.ts': NODES, 'flow.yaml': FLOW })
    const running = start(['run', 'flow.yaml', '--input', '{"n":1}'])
    await running.shown('holding')
    running.child.kill('SIGKILL')
    await running.ended
    write('go', '')
    const { code, out } = await nerve(['resume', 'last'])
    expect(code).toBe(3)
    expect(out).toContain('Is 20 right?')
    expect(effects()).toEqual(['add', 'slow', 'slow'])
    const answered = await nerve(['answer', 'last', 'no', '--json'])
    expect(jsonLines(answered.out).at(-1)).toMatchObject({ output: { answer: 'no', n: 21 } })
  })

  test('a spec with problems starts nothing and names them all', async () => {
    const { nerve, has } = open({ 'nodes.ts': NODES, 'flow.yaml': BAD })
    const { code, err } = await nerve(['run', 'flow.yaml'])
    expect(code).toBe(2)
    expect(err.split('\n').filter((line) => line.startsWith('flow.yaml:'))).toHaveLength(4)
    expect(has('.nerve')).toBe(false)
  })

  test('graphs, control nodes and nodes run alone', async () => {
    const { nerve, write } = open({
      'graphs.ts': GRAPHS,
      'turns.ts': "export { turns } from './graphs.ts'",
      'nodes.ts': NODES,
    })
    const output = async (file: string): Promise<unknown> =>
      jsonLines((await nerve(['run', file, '--json', '--input', '3'])).out).at(-1).output
    expect(await output('graphs.ts')).toEqual({ one: 4, many: { value: 7, iterations: 3, ended: 'times' } })
    expect(await output('turns.ts')).toEqual({ value: 5, iterations: 2, ended: 'times' })
    write('go', '')
    expect(await output('nodes.ts')).toBe(4)
  })
})

describe('explain', () => {
  test('draws a spec as text, as Mermaid and as data, without running or touching anything', async () => {
    const { nerve, has } = open({ 'nodes.ts': NODES, 'flow.yaml': FLOW })
    const [text, drawn, data] = await Promise.all([
      nerve(['explain', 'flow.yaml']),
      nerve(['explain', 'flow.yaml', '--mermaid']),
      nerve(['explain', 'flow.yaml', '--json', '--mermaid']),
    ])
    expect(text.out).toContain('  hold (function) after first\n')
    expect(text.out).toMatch(/ask \(gate, .*yes or no\) after hold/)
    expect(text.out).toMatch(/kind +graph/)
    expect(drawn.out).toMatch(/^flowchart TD\n {2}n1\["first<br\/>function"\]\n/)
    expect(drawn.out).toContain('n1 --> n2')
    const [flow] = JSON.parse(data.out).workflows
    expect(flow).toMatchObject({ name: 'flow', kind: 'graph', params: { by: 1 }, mermaid: drawn.out.trimEnd() })
    expect(flow.outline.parts.map((part: { id: string }) => part.id)).toEqual(['first', 'hold', 'ask'])
    expect(has('.nerve') || has('effects.txt')).toBe(false)
  })

  test('draws every form', async () => {
    const { nerve } = open({ 'graphs.ts': GRAPHS, 'greet.ts': files.greet })
    const { out } = await nerve(['explain', 'graphs.ts'])
    expect(out).toMatch(/on failure +skip/)
    expect(out).toContain('  many (loop, 3 times) after one\n    body (function, add)\n')
    expect(out).toContain('turns (loop, 2 times)\n  body (function, add)\n')
    expect(out).toContain('its steps are known when it runs')
    const drawn = (await nerve(['explain', 'graphs.ts', '--mermaid'])).out
    expect(drawn.match(/^flowchart TD$/gm)).toHaveLength(3)
    expect((await nerve(['explain', 'greet.ts', '--mermaid'])).out).toMatch(
      /^flowchart TD\n {2}n1\["greet<br\/>workflow/,
    )
  })
})

describe('validate', () => {
  test('is 0 when nothing is wrong', async () => {
    const { nerve, has } = open({ 'nodes.ts': NODES, 'flow.yaml': FLOW, 'graphs.ts': GRAPHS })
    expect(await nerve(['validate', 'flow.yaml'])).toMatchObject({ code: 0, out: 'valid  flow\n', err: '' })
    expect(await nerve(['validate', 'graphs.ts'])).toMatchObject({ code: 0, out: 'valid  sums, plain, turns\n' })
    expect(JSON.parse((await nerve(['validate', 'flow.yaml', '--json'])).out)).toEqual({
      file: 'flow.yaml',
      ok: true,
      definitions: ['flow'],
      problems: [],
      unchecked: [],
    })
    expect(has('.nerve')).toBe(false)
  })

  test('is 1 with every problem at its line and column', async () => {
    const { nerve } = open({ 'nodes.ts': NODES, 'flow.yaml': BAD })
    const { code, out } = await nerve(['validate', 'flow.yaml'])
    expect(code).toBe(1)
    expect(out.split('\n')).toEqual([
      "flow.yaml:7:18: steps.hold.node: there is no node 'solw'. Did you mean 'slow'?",
      "flow.yaml:8:31: steps.ask.after: there is no step 'hodl'. Did you mean 'hold'?",
      "flow.yaml:8:103: steps.ask.input: the result of 'hold' is not known here: add 'hold' to after.",
      "flow.yaml:9:1: outptu: is not a field here. Did you mean 'output'?",
      '4 problems',
      '',
    ])
    const data = JSON.parse((await nerve(['validate', 'flow.yaml', '--json'])).out)
    expect(data.problems[0]).toEqual({
      file: 'flow.yaml',
      line: 7,
      column: 18,
      path: ['steps', 'hold', 'node'],
      message: "there is no node 'solw'. Did you mean 'slow'?",
    })
  })

  test('text that is no YAML, code with problems, names that cannot be checked, and no file', async () => {
    const { nerve } = open({
      'broken.yaml': 'nerve: 1\nsteps: [\n',
      'bad.ts':
        "import { graph } from 'nerve/graph'\nexport default graph('bad').step('a', 'nobody').step('a', 'nobody')",
      'late.yaml': 'nerve: 1\nname: late\nsteps: { a: { node: other } }\n',
    })
    expect(await nerve(['validate', 'broken.yaml'])).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^broken.yaml:3:1: /),
    })
    const code = await nerve(['validate', 'bad.ts'])
    expect(code).toMatchObject({
      code: 1,
      out: expect.stringContaining("bad.ts: graph 'bad': two steps have the id 'a'."),
    })
    expect(await nerve(['validate', 'late.yaml'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('not checked: other'),
    })
    expect(await nerve(['validate', 'none.yaml'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('There is no file'),
    })
  })
})

describe('the example', () => {
  test('says how to run it, is valid, and runs', async () => {
    const { nerve, dir } = open()
    const file = join(EXAMPLES, 'flow.yaml')
    expect(readFileSync(file, 'utf8')).toContain('nerve run examples/flow.yaml')
    expect((await nerve(['validate', file])).out).toBe('valid  flow\n')
    const { code, out } = await nerve(['run', file, '--dir', dir, '--input', '{"topic":"otters"}', '--yes', '--json'])
    expect(code).toBe(0)
    expect(jsonLines(out).at(-1).output).toEqual({
      published: { url: 'https://example.com/45' },
      answer: 'publish',
      reviews: 2,
    })
    expect((await nerve(['run', file, '--dir', dir, '--input', '{}'])).err).toContain("has no 'topic'")
  })
})

test('explain says what a failed agent means to an agent graph', async () => {
  here = project({
    'team.ts': `
import { defineNode } from 'nerve'
import { agentGraph } from 'nerve/agents'
const work = defineNode('work', () => 'done')
export default agentGraph('team', { errorPolicy: 'continue' }).agent('a', { bundle: work, target: 't' })
`,
  })
  expect((await here.nerve(['explain', 'team.ts'])).out).toMatch(/on failure +continue/)
})

test('a file that holds no spec at all is named, with the place', async () => {
  here = project({ 'empty.yaml': '', 'list.json': '[1]', 'binary.yml': '\u0000\uFFFF' })
  for (const file of ['empty.yaml', 'list.json', 'binary.yml']) {
    const { code, out } = await here.nerve(['validate', file])
    expect([code, out.split('\n')[0]]).toEqual([1, `${file}:1:1: a spec is an object with nerve, name and steps.`])
  }
})

test('a graph in a .ts file may refer by name to what else the file exports, also after a crash', async () => {
  here = project({
    'named.ts': `
import { defineNode, workflow } from 'nerve'
import { Gate } from 'nerve/control'
import { graph } from 'nerve/graph'
export const add = defineNode('add', (n: number) => n + 1)
export default graph<number>('named')
  .ref<number>('a', 'add', { inputFn: (_, { input }) => input })
  .step('ask', Gate({ prompt: 'Go on?' }), { after: ['a'] })
  .step('b', 'add', { after: ['a', 'ask'], inputFn: ({ a }) => a })
  .step('c', 'last', { after: ['b'], inputFn: ({ b }) => b })
export const last = workflow('last', (ctx, n: number) => ctx.run('add', n))
`,
  })
  expect((await here.nerve(['run', 'named.ts', '--input', '1'])).code).toBe(3)
  const { code, out } = await here.nerve(['answer', 'last', 'approve', '--json'])
  expect(code).toBe(0)
  expect(jsonLines(out).at(-1)).toMatchObject({ status: 'completed', output: { a: 2, ask: 'approve', b: 3, c: 4 } })
})

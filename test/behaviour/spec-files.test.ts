/** Specs in files: the nodes that they name, and what is not loaded. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHost, createRegistry } from 'nerve'
import { checkFile } from '../../src/host/check-file.ts'
import { loadDefinitions, loadRunnables } from '../../src/host/definition-file.ts'
import { rejection } from './stage.ts'

const NODES = `
import { defineNode } from 'nerve'
export const add = defineNode('add', (n) => n + 1, { description: 'adds one' })
export const twice = defineNode('twice', (n) => n * 2)
`
const FLOW = `
nerve: 1
name: flow
nodes: ./nodes.mjs
steps:
  a: { node: add, input: "\${{ input }}" }
  b: { node: twice, after: a, input: "\${{ results.a }}" }
output: results.b
`

let outside: string
let dir: string
beforeEach(() => {
  outside = mkdtempSync(join(tmpdir(), 'nerve-spec-'))
  dir = join(outside, 'project')
  write({ 'package.json': '{"type":"module"}' })
})
afterEach(() => rmSync(outside, { recursive: true }))

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    const file = join(dir, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
}

const problems = async (file: string): Promise<string[]> =>
  (await checkFile(join(dir, file))).problems.map(({ line, column, message }) => `${line}:${column} ${message}`)

describe('a spec in a file', () => {
  it('brings its nodes along, as YAML and as JSON', async () => {
    write({
      'nodes.mjs': NODES,
      'flow.yaml': FLOW,
      'outer.json': JSON.stringify({
        nerve: 1,
        name: 'outer',
        nodes: ['./flow.yaml', './nodes.mjs'],
        steps: {
          inner: { node: 'flow', input: 1 },
          after: { node: 'add', after: 'inner', input: '${{ results.inner }}' },
        },
      }),
    })
    const host = await createHost({ store: 'memory' })
    try {
      const [flow] = await loadDefinitions(join(dir, 'flow.yaml'))
      const [outer] = await loadDefinitions(join(dir, 'outer.json'))
      expect(await (await host.start(flow as never, 2)).result()).toBe(6)
      expect(await (await host.start(outer as never)).result()).toEqual({ inner: 4, after: 5 })
      expect(await checkFile(join(dir, 'outer.json'))).toEqual({ definitions: ['outer'], problems: [], unchecked: [] })
    } finally {
      await host.close()
    }
  })

  it('loads code of its project and nothing else', async () => {
    write({ 'nodes.mjs': NODES, 'flows/up.yaml': FLOW.replace('./nodes', '../nodes') })
    writeFileSync(join(outside, 'evil.mjs'), 'globalThis.evil = true')
    symlinkSync(join(outside, 'evil.mjs'), join(dir, 'linked.mjs'))
    expect(await problems('flows/up.yaml')).toEqual([])
    const refused = [
      ['../evil.mjs', /outside the project/u],
      ['./linked.mjs', /outside the project/u],
      [join(outside, 'evil.mjs'), /relative to this file/u],
      ['node:fs', /relative to this file/u],
      ['data:text/javascript,globalThis.evil=true', /relative to this file/u],
      ['yaml', /there is no file yaml/u],
      ['./none.mjs', /there is no file/u],
      ['./package.json', /nerve|a spec/u],
    ] as const
    for (const [nodes, message] of refused) {
      write({ 'flow.yaml': FLOW.replace('./nodes.mjs', JSON.stringify(nodes)) })
      expect((await problems('flow.yaml'))[0], nodes).toMatch(message)
    }
    expect('evil' in globalThis).toBe(false)
  })

  it('says what is wrong with the files that it names, at their line', async () => {
    write({
      'broken.mjs': 'export const = 1',
      'twin.mjs': NODES,
      'nodes.mjs': NODES,
      'self.yaml': FLOW.replace('./nodes.mjs', './self.yaml'),
      'flow.yaml': FLOW.replace('./nodes.mjs', '[./nodes.mjs, ./broken.mjs, ./twin.mjs]').replace(
        'node: twice',
        'nod: twice',
      ),
    })
    expect(await problems('flow.yaml')).toEqual([
      expect.stringMatching(/^4:22 .*broken.mjs could not be loaded/u),
      expect.stringMatching(/^4:36 'add' of .\/twin.mjs is taken/u),
      expect.stringMatching(/^7:6 has nothing to run/u),
    ])
    expect(await problems('self.yaml')).toEqual([expect.stringContaining('is among its own nodes')])
    const error = await rejection(loadRunnables(join(dir, 'flow.yaml')))
    expect(error).toMatchObject({ code: 'bad-file', message: expect.stringContaining('flow.yaml:4:22: nodes.1: ') })
    expect(await rejection(loadRunnables(join(dir, 'none.yaml')))).toMatchObject({ code: 'bad-file' })
  })

  it('without files of nodes, it says which names it could not check', async () => {
    write({ 'flow.yaml': FLOW.replace('nodes: ./nodes.mjs\n', '') })
    expect(await checkFile(join(dir, 'flow.yaml'))).toEqual({
      definitions: ['flow'],
      problems: [],
      unchecked: ['add', 'twice'],
    })
  })

  it('a registry loads the specs of a folder, and leaves other data alone', async () => {
    write({
      'nodes.mjs': NODES,
      'flow.yaml': FLOW,
      'late.yml': 'nerve: 1\nname: late\nsteps: { a: { node: flow, input: 4 } }\n',
      'tsconfig.json': '{ "compilerOptions": {}, }',
      'other.json': '{ "dependencies": {\n "nerve": "1.0.0" } }',
      'broken.json': '{ "dependencies": {\n "nerve": "1.0.0" ',
      'compose.yaml': 'services:\n  nerve:\n    image: x\n',
      'ci.yaml': 'on: [push]\n',
    })
    const registry = createRegistry()
    expect([...(await registry.load(dir))].toSorted()).toEqual(['add', 'flow', 'late', 'twice'])
    const host = await createHost({ store: 'memory', registry })
    try {
      expect(await (await host.start(registry.names.get('late') as never)).result()).toEqual({ a: 10 })
      write({ 'flow.yaml': FLOW.replace('results.b', 'results.b + 100') })
      await registry.reload()
      expect(await (await host.start(registry.names.get('late') as never)).result()).toEqual({ a: 110 })
      write({ 'flow.yaml': 'nerve: 1\nsteps: [\n' })
      expect((await rejection(registry.reload())).message).toMatch(/flow.yaml:\d+:\d+: /u)
      write({ 'flow.yaml': FLOW.replace('results.b', 'results.z') })
      expect((await rejection(registry.reload())).message).toMatch(/flow.yaml:8:9: output: there is no step 'z'/u)
      expect(await (await host.start(registry.names.get('late') as never)).result()).toEqual({ a: 110 })
    } finally {
      await host.close()
    }
  })

  it('a file of nodes alone gives each as a graph of one step', async () => {
    write({ 'nodes.mjs': NODES })
    const host = await createHost({ store: 'memory' })
    try {
      const definitions = await loadDefinitions(join(dir, 'nodes.mjs'))
      expect(definitions.map(({ name, kind, options }) => [name, kind, options.description])).toEqual([
        ['add', 'graph', 'adds one'],
        ['twice', 'graph', undefined],
      ])
      expect(await (await host.start(definitions[1] as never, 4)).result()).toBe(8)
    } finally {
      await host.close()
    }
  })
})

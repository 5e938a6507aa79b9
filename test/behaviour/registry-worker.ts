/**
 * Loads folders of definitions in a Node of its own, where files are loaded as they are for users and not by the test
 * runner. Prints what it saw as JSON; registry.test.ts says what that must be.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createHost, createRegistry, defineNode, isNerveError, type Host, type Registry } from 'nerve'
import type { Graph } from 'nerve/graph'

const [, , scenario = '', dir = ''] = process.argv

function write(name: string, text: string): void {
  mkdirSync(join(dir, name, '..'), { recursive: true })
  writeFileSync(join(dir, name), text)
}

const node = (id: string, adds: number): string =>
  `import { defineNode } from 'nerve'\nexport const ${id} = defineNode('${id}', (n: number): number => n + ${adds})\n`
const flow = (name: string): string =>
  `import { graph } from 'nerve/graph'\nimport { add } from './nodes.ts'\nexport default graph<number>('${name}').step('add', add, { inputFn: (_, { input }) => input })\n`

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'none'
  } catch (error) {
    return isNerveError(error) ? `${error.code}: ${error.message.replaceAll(dir, 'DIR')}` : String(error)
  }
}

const runBy = async (host: Host, registry: Registry, name: string, input: unknown): Promise<unknown> =>
  (await host.start(registry.names.get(name) as Graph, input)).result()

const scenarios: Record<string, () => Promise<unknown>> = {
  async loads() {
    write('nodes.ts', node('add', 1))
    write('flow.ts', flow('flow'))
    write('plain.js', `export const wait = { kind: 'workflow', name: 'wait', options: {}, run: () => 'waited' }\n`)
    write('no-definition.ts', `export const something: number = 1\n`)
    write('flow.test.ts', `throw new Error('a test is no definition')\n`)
    write('types.d.ts', `export declare const nothing: number\n`)
    write('.hidden.ts', `throw new Error('hidden')\n`)
    write('below/deep.ts', node('deep', 1))
    const registry = createRegistry()
    const names = await registry.load(dir)
    const used = (registry.names.get('flow') as Graph).steps()[0]?.node
    return { names, one: used === registry.names.get('add'), again: await registry.load(dir) }
  },

  async reloads() {
    write('nodes.ts', node('add', 1))
    write('flow.ts', flow('flow'))
    write('other.ts', node('other', 1))
    const registry = createRegistry()
    const host = await createHost({ store: 'memory', registry })
    await registry.load(dir)
    const before = registry.names
    const first = await runBy(host, registry, 'flow', 1)
    // As long as before, and maybe in the same millisecond; and in a file that the flow only imports.
    write('nodes.ts', node('add', 5))
    await registry.reload()
    const second = await runBy(host, registry, 'flow', 1)
    const kept = before.get('other') === registry.names.get('other')
    const used = (registry.names.get('flow') as Graph).steps()[0]?.node === registry.names.get('add')
    rmSync(join(dir, 'other.ts'))
    const names = await registry.reload()
    await host.close()
    return { first, second, kept, used, names, old: before.get('other') !== undefined }
  },

  async 'reloads-required'() {
    write('package.json', '{"type":"commonjs"}')
    write('adds.js', 'exports.adds = 1\n')
    write(
      'nodes.js',
      `const { defineNode } = require('nerve')\nconst { adds } = require('./adds.js')\nexports.add = defineNode('add', (n) => n + adds)\n`,
    )
    write('flow.ts', flow('flow').replace('./nodes.ts', './nodes.js'))
    const registry = createRegistry()
    const host = await createHost({ store: 'memory', registry })
    await registry.load(dir)
    const first = await runBy(host, registry, 'flow', 1)
    write('adds.js', 'exports.adds = 5\n')
    await registry.reload()
    const second = await runBy(host, registry, 'flow', 1)
    write('nodes.js', `exports.add = require('nerve').defineNode('add', (n) => n + 9)\n`)
    await registry.reload()
    const third = await runBy(host, registry, 'flow', 1)
    await host.close()
    return { first, second, third }
  },

  async 'live-runs'() {
    write('nodes.ts', node('add', 1))
    write(
      'asks.ts',
      `import { workflow } from 'nerve'\nexport default workflow('asks', async (ctx, n: number) => [await ctx.ask('Go on?'), await ctx.run('add', n)])\n`,
    )
    const registry = createRegistry()
    const host = await createHost({ store: 'memory', registry })
    await registry.load(dir)
    const asks = registry.names.get('asks') as Graph
    const old = await host.start(asks, 1)
    await old.rest()
    write('nodes.ts', node('add', 100))
    await registry.reload()
    const young = await host.start(registry.names.get('asks') as Graph, 1)
    await young.rest()
    for (const { id } of await host.inbox()) await host.answer(id, 'yes')
    const results = [await old.result(), await young.result()]
    await host.close()
    return results
  },

  async 'broken-files'() {
    write('nodes.ts', node('add', 1))
    write('flow.ts', flow('flow'))
    const registry = createRegistry(defineNode('mine', () => 1))
    await registry.load(dir)
    const before = registry.names
    const errors: string[] = []
    const attempt = async (): Promise<void> => {
      errors.push((await codeOf(registry.reload())).split('\n')[0] ?? '')
    }
    write('flow.ts', 'export default graph(')
    await attempt()
    write('flow.ts', flow('add'))
    await attempt()
    write('flow.ts', flow('mine'))
    await attempt()
    write('flow.ts', flow('flow').replace('./nodes.ts', './more.ts'))
    await attempt()
    errors.push(await codeOf(createRegistry().load(join(dir, 'nowhere'))))
    const same = registry.names === before
    write('more.ts', node('add', 1).replace(`'add'`, `'more'`))
    const names = await registry.reload()
    return { errors, same, names }
  },

  async 'never-loaded'() {
    write('waits.ts', 'await new Promise(() => undefined)\n')
    // Somebody else is at work: this process would not end by itself.
    const other = setInterval(() => undefined, 1_000)
    mock.timers.enable({ apis: ['setTimeout'] })
    const said = codeOf(createRegistry().load(dir))
    let settled = false
    void said.then(() => (settled = true))
    while (!settled) {
      mock.timers.tick(10_000)
      await setImmediate()
    }
    clearInterval(other)
    return said
  },

  async 'two-folders'() {
    write('a/nodes.ts', node('add', 1))
    write('b/nodes.ts', node('more', 1))
    const registry = createRegistry()
    await Promise.all([registry.load(join(dir, 'a')), registry.load(join(dir, 'b'))])
    const both = [...registry.names.keys()]
    const removed = registry.remove('add')
    const left = [...registry.names.keys()]
    await registry.reload()
    return { both, removed, left, back: [...registry.names.keys()] }
  },
}

console.log(JSON.stringify(await scenarios[scenario]?.()))

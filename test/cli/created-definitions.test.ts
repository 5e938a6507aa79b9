/** Definitions that came as data, and all others, as the daemon of a project knows them and as its commands do without one. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'nerve/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { jsonLines, project } from './nerve.ts'

const CONFIG = `import { defineNode, workflow } from 'nerve'
export default { nodes: [defineNode('shout', (text) => String(text).toUpperCase()), workflow('planned', async () => 7)] }`
const HELLO = `import { workflow } from 'nerve'
export default workflow('hello', { description: 'greets' }, async (ctx, name) => ctx.step('write', () => 'Hello ' + name))`

const here = project({ 'nerve.config.ts': CONFIG })
const workflows = join(here.dir, 'workflows')
const inFolder = (file: string): string => join(workflows, file)
const THERE = { NERVE_LOCAL: '0' }
const ways = [
  ['with the daemon', THERE],
  ['without it', { NERVE_LOCAL: '1' }],
] as const

beforeAll(async () => {
  mkdirSync(workflows)
  writeFileSync(inFolder('hello.ts'), HELLO)
  writeFileSync(inFolder('broken.ts'), 'export default')
  await here.nerve(['trust'])
  const { code, err } = await here.nerve(['server', 'start'], { env: THERE })
  if (code !== 0) throw new Error(err)
  const client = await connect(join(here.dir, '.nerve', 'nerve.sock'))
  const create = (name: string, node: string) =>
    client.call('definitions.create', {
      spec: { nerve: 1, name, description: `runs ${node}`, steps: { only: { node, input: '${{ input }}' } } },
    })
  await create('made', 'shout')
  await create('outer', 'made')
  await client.close()
})
// Ends the daemon as well.
afterAll(() => here.remove())

describe.each(ways)('%s', (_way, env) => {
  const nerve = (...args: readonly string[]) => here.nerve(args, { env })

  test('all are listed, with their files and what is wrong', async () => {
    const { definitions, problems } = JSON.parse((await nerve('workflow', 'list', '--json')).out)
    const made = (name: string) => join(here.dir, '.nerve', 'definitions', name)
    const own = definitions.map(({ runs: _runs, last: _last, ...one }: Record<string, unknown>) => one)
    expect(own).toEqual([
      { name: 'hello', kind: 'workflow', description: 'greets', source: inFolder('hello.ts') },
      { name: 'made', kind: 'graph', description: 'runs shout', source: expect.stringContaining(made('made-')) },
      { name: 'outer', kind: 'graph', description: 'runs made', source: expect.stringContaining(made('outer-')) },
      { name: 'planned', kind: 'workflow' },
    ])
    expect(problems).toEqual([{ source: inFolder('broken.ts'), message: expect.stringContaining('broken.ts') }])
    const { out } = await nerve('workflow', 'list')
    expect(out).toMatch(/^made {5}graph {5}\.nerve\/definitions\/made-\w+\.json /m)
    expect(out).toMatch(/^planned {2}workflow {2}nerve\.config /m)
    expect(out).toMatch(/^workflows\/broken\.ts: /m)
  })

  test('each runs by its name, also what refers to another', async () => {
    const output = async (name: string): Promise<unknown> => {
      const { out, err } = await nerve('workflow', 'run', name, '--input', 'ada', '--json')
      return [jsonLines(out).at(-1)?.output, err]
    }
    expect(await output('made')).toEqual([{ only: 'ADA' }, ''])
    expect(await output('outer')).toEqual([{ only: { only: 'ADA' } }, ''])
    expect(await output('hello')).toEqual(['Hello ada', ''])
    expect(await output('planned')).toEqual([7, ''])
    expect(await nerve('workflow', 'run', 'mode')).toMatchObject({ code: 2, err: expect.stringContaining(`'made'?`) })
  })

  test('their names are completed', async () => {
    const { out } = await nerve('completion', 'words', '--', 'workflow', 'run', 'ou')
    expect(out).toBe('outer\n')
  })
})

test('a daemon that may not load the files of the folder says so, and a command asks for trust first', async () => {
  const other = project({ 'made.json': JSON.stringify({ nerve: 1, name: 'x', steps: { a: { prompt: 'Go?' } } }) })
  try {
    mkdirSync(join(other.dir, 'workflows'))
    await other.nerve(['server', 'start'], { env: THERE })
    expect(JSON.parse((await other.nerve(['workflow', 'list', '--json'], { env: THERE })).out).definitions).toEqual([])
    writeFileSync(join(other.dir, 'workflows', 'hello.ts'), HELLO)
    const refused = await other.nerve(['workflow', 'list'], { env: THERE })
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('nobody has trusted') })
    // This command may, and the daemon, which does the work, may not.
    const half = JSON.parse(
      (await other.nerve(['workflow', 'list', '--json'], { env: { ...THERE, NERVE_TRUST: '1' } })).out,
    )
    expect(half).toEqual({
      definitions: [],
      problems: [{ source: join(other.dir, 'workflows'), message: expect.stringContaining('nerve trust') }],
    })
    await other.nerve(['trust'])
    const { out } = await other.nerve(['workflow', 'list'], { env: THERE })
    expect(out).toMatch(/^hello {2}workflow {2}workflows\/hello\.ts/m)
  } finally {
    other.remove()
  }
})

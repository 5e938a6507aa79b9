/** A definition that comes as data has a name that nothing else has, whoever knows it; and it never runs itself for ever. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { createHost, defineNode, type HostOptions } from 'nerve'
import { graph } from 'nerve/graph'
import type { Client } from 'nerve/client'
import { createService } from 'nerve/server'
import { createSessionManager } from 'nerve/sessions'
import { createClient } from '../../src/surfaces/client/client.ts'
import { serviceConnection } from '../../src/surfaces/client/service-connection.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'nerve-specs-names-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
})

/** As the daemon of a project has it. */
async function open({ sessions: plans = [], ...options }: HostOptions = {}): Promise<Client> {
  const host = await createHost({ dir, ...options, sessions: plans })
  const sessions = createSessionManager(host, { plans, lazy: true })
  const service = createService(host, { sessions, plans, folder: join(dir, 'workflows') })
  const close = async (): Promise<void> => {
    await host.close()
    await sessions.detachAll()
  }
  const client = createClient(serviceConnection(service, { caller: { scope: 'control', local: true }, close }))
  onTestFinished(() => client.close())
  return client
}

const spec = (name: string, steps: object = { ok: { prompt: 'Ship it?' } }) => ({ nerve: 1, name, steps })
const create = (client: Client, ...given: Parameters<typeof spec>) =>
  client.call('definitions.create', { spec: spec(...given) })
const kept = (): readonly string[] => {
  const folder = join(dir, '.nerve', 'definitions')
  return existsSync(folder) ? readdirSync(folder) : []
}

describe('a name that is in use', () => {
  const taken = (by: string) => ({ code: 'bad-definition', message: expect.stringContaining(`taken by ${by}`) })
  const greet = defineNode('greet', (text: string) => `Hello ${text}`)
  const sessions = [{ name: 'default', nodes: [greet] }]

  it('by a node that is only planned is refused, and the node is used as before', async () => {
    const client = await open({ sessions })
    await expect(create(client, 'greet')).rejects.toMatchObject(taken(`a function of session 'default'`))
    expect(kept()).toEqual([])
    expect(await client.node('greet').execute('Ada')).toBe('Hello Ada')
    await expect(create(client, 'greet')).rejects.toMatchObject({ code: 'bad-definition' })
  })

  it('by a node that is recorded in a session which is not open is refused', async () => {
    const first = await open()
    await first.call('nodes.create', { session: 'work', config: { kind: 'bash', id: 'build' } })
    await first.close()
    const client = await open()
    await expect(create(client, 'build')).rejects.toMatchObject(taken(`a bash of session 'work'`))
  })

  it('by a definition in a file of the project is refused', async () => {
    mkdirSync(join(dir, 'workflows'))
    const file = join(dir, 'workflows', 'hello.json')
    writeFileSync(file, JSON.stringify(spec('hello')))
    const client = await open()
    await expect(create(client, 'hello')).rejects.toMatchObject(taken(`a graph of ${file}`))
    expect(kept()).toEqual([])
  })

  it('by a definition that came as data can be given to no node, also by a host that has not looked yet', async () => {
    const first = await open()
    await create(first, 'made')
    await first.close()
    const client = await open()
    const config = { kind: 'identity', id: 'made' }
    await expect(client.call('nodes.create', { config })).rejects.toMatchObject({
      code: 'bad-option',
      message: expect.stringContaining(`definitions.create`),
    })
    await client.call('nodes.create', { config: { kind: 'identity', id: 'same' } })
    await expect(client.node('same').fork('made')).rejects.toMatchObject({ code: 'bad-option' })
    expect(await create(client, 'made')).toMatchObject({ definition: 'made' })
  })
})

describe('a spec that runs itself, with no condition on the way', () => {
  const cycle = (...names: string[]) => ({
    code: 'bad-definition',
    message: expect.stringContaining(names.map((name) => `'${name}'`).join(' → ')),
  })
  const again = (node: string) => ({ first: { node: 'echo' }, again: { node, after: ['first'] } })
  const echo = defineNode('echo', (given: unknown) => given)

  it('is refused, by its own name', async () => {
    const client = await open({ definitions: [echo] })
    await expect(create(client, 'loop', again('loop'))).rejects.toMatchObject(cycle('loop', 'loop'))
    const checked = await client.call('definitions.validate', { spec: spec('loop', again('loop')) })
    expect(checked).toEqual({ ok: false, problems: [expect.stringContaining(`'loop' → 'loop'`)] })
    expect(kept()).toEqual([])
  })

  it('is refused when it closes a cycle with others, also in the place of one that did not', async () => {
    const client = await open({ definitions: [echo] })
    await create(client, 'two')
    await create(client, 'one', again('two'))
    await expect(create(client, 'two', again('one'))).rejects.toMatchObject(cycle('two', 'one', 'two'))
    const checked = await client.call('definitions.validate', { spec: spec('two', again('one')) })
    expect(checked.problems).toEqual([expect.stringContaining(`'two' → 'one' → 'two'`)])
  })

  it('is refused when both come at the same time, or one of them from an earlier host', async () => {
    const first = await open({ definitions: [echo] })
    const both = await Promise.allSettled([create(first, 'one', again('two')), create(first, 'two', again('one'))])
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    await first.close()
    const second = await open({ definitions: [echo] })
    expect(await second.call('definitions.validate', { spec: spec('two', again('one')) })).toMatchObject({ ok: false })
  })

  it('is not started where code closes the cycle later, and leaves no run behind', async () => {
    const first = await open({ definitions: [echo] })
    await create(first, 'one', again('two'))
    await first.close()
    const client = await open({ definitions: [echo, graph('two').ref('back', 'one')] })
    for (const name of ['one', 'two']) {
      const other = name === 'one' ? 'two' : 'one'
      await expect(client.runs.start(name)).rejects.toMatchObject(cycle(name, other, name))
      const { problems } = await client.call('definitions.validate', { definition: name })
      expect(problems).toEqual([expect.stringContaining(`'${name}' → '${other}' → '${name}'`)])
    }
    expect(await client.runs.list()).toEqual([])
  })

  it('is taken with a condition, and comes to its end', async () => {
    const client = await open({ definitions: [echo] })
    const steps = {
      first: { node: 'echo', input: '${{ input }}' },
      again: { node: 'down', after: ['first'], when: 'input > 0', input: '${{ input - 1 }}' },
    }
    await create(client, 'down', steps)
    const run = await client.runs.start('down', 2)
    expect(await run.result()).toEqual({ first: 2, again: { first: 1, again: { first: 0 } } })
  })
})

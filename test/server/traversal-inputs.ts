/** What can be asked, as it should be, and which of its fields are names of something. */
import type { Client } from 'nerve/client'
import type { Name } from '../../src/host/contract/contract.ts'

/** Made anew for each call that may change something. */
let count = 0
function fresh(): string {
  count += 1
  return `n${count}`
}

async function run(near: Client, definition: string): Promise<string> {
  const { id, ...one } = await near.runs.start(definition, 1)
  await one.wait({ until: 'rest' })
  return id
}

export async function exported(near: Client): Promise<string> {
  const id = await run(near, 'busy')
  const text = await near.run(id).export()
  return text.replaceAll(id, `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`)
}

async function asked(near: Client): Promise<string> {
  const of = await run(near, 'asking')
  return (await near.questions.list()).find((one) => one.run === of)?.id ?? ''
}

async function made(near: Client): Promise<string> {
  const spec = { nerve: 1, name: fresh(), steps: { one: { node: 'busy' } } }
  return (await near.call('definitions.create', { spec })).definition
}

async function node(near: Client): Promise<string> {
  const config = { kind: 'bash', id: fresh(), command: 'true' }
  return (await near.call('nodes.create', { session: 'work', config })).node
}

async function session(near: Client): Promise<string> {
  return (await near.call('sessions.create', { session: fresh() })).session
}

const doll = { node: 'doll', session: 'work' }
const start = { definition: 'busy', input: 1 }

/** What is asked as it should be: each is done when nothing in it is evil. */
export const INPUTS: { readonly [One in Name]: (near: Client) => Promise<object> | object } = {
  'runs.start': () => start,
  'runs.stream': () => start,
  'runs.list': () => ({}),
  'runs.get': async (near) => ({ run: await run(near, 'busy') }),
  'runs.journal': async (near) => ({ run: await run(near, 'busy') }),
  'runs.wait': async (near) => ({ run: await run(near, 'busy'), timeout: 0 }),
  'runs.pause': async (near) => ({ run: await run(near, 'waiting') }),
  'runs.resume': async (near) => ({ run: await run(near, 'waiting') }),
  'runs.interrupt': async (near) => ({ run: await run(near, 'waiting') }),
  'runs.cancel': async (near) => ({ run: await run(near, 'waiting') }),
  'runs.fork': async (near) => ({ run: await run(near, 'busy') }),
  'runs.plan': async (near) => ({ run: await run(near, 'busy') }),
  'runs.replay': async (near) => ({ run: await run(near, 'busy') }),
  'runs.export': async (near) => ({ run: await run(near, 'busy') }),
  'runs.import': async (near) => ({ text: await exported(near) }),
  'runs.remove': () => ({ olderThan: '1h' }),
  'questions.list': () => ({}),
  'questions.answer': async (near) => ({ question: await asked(near), value: 'x' }),
  'signals.send': async (near) => ({ run: await run(near, 'waiting'), name: 'other' }),
  events: async (near) => ({ run: await run(near, 'busy'), once: true }),
  usage: () => ({}),
  audit: () => ({}),
  'sessions.list': () => ({}),
  'sessions.get': () => ({ session: 'idle' }),
  'sessions.create': () => ({ session: fresh() }),
  'sessions.close': async (near) => ({ session: await session(near) }),
  'sessions.remove': async (near) => ({ session: await session(near) }),
  'nodes.list': () => ({}),
  'nodes.get': () => doll,
  'nodes.kinds': () => ({}),
  'nodes.create': () => ({ session: 'work', config: { kind: 'bash', id: fresh(), command: 'true' } }),
  'nodes.remove': async (near) => ({ session: 'work', node: await node(near) }),
  'nodes.execute': () => doll,
  'nodes.stream': () => doll,
  'nodes.watch': () => doll,
  'nodes.run': () => ({ ...doll, line: 'x' }),
  'nodes.write': () => ({ ...doll, text: 'x' }),
  'nodes.read': () => ({ ...doll, tail: 1 }),
  'nodes.interrupt': () => doll,
  'nodes.start': () => doll,
  'nodes.reset': () => doll,
  'nodes.stop': async (near) => ({ session: 'work', node: await node(near) }),
  'nodes.fork': () => ({ ...doll, as: fresh() }),
  'nodes.history': () => doll,
  'definitions.list': () => ({}),
  'definitions.problems': () => ({}),
  'definitions.explain': () => ({ definition: 'busy' }),
  'definitions.validate': () => ({ definition: 'busy' }),
  'definitions.create': () => ({ spec: { nerve: 1, name: fresh(), steps: { one: { node: 'busy' } } } }),
  'definitions.remove': async (near) => ({ definition: await made(near) }),
  'gateway.status': () => ({}),
  health: () => ({}),
  shutdown: () => ({}),
}

/** Fields of what is asked that no schema names, because what is in them is data for the contract. */
export const MORE: { readonly [One in Name]?: readonly (readonly string[])[] } = {
  'definitions.create': [
    ['spec', 'name'],
    ['spec', 'steps', 'one', 'node'],
    ['spec', 'nodes', 'one'],
  ],
  'definitions.validate': [['spec', 'name']],
}

/** What is no name of anything that is kept: values, texts, patterns, and what is only compared. Taken or not, it leads nowhere. */
export const DATA = new Set([
  'runs.list definition',
  'runs.list root',
  'runs.interrupt path',
  'runs.resume from',
  'runs.cancel reason',
  'runs.fork at',
  'signals.send name',
  'events after',
  'events type',
  'events path',
  'audit after',
  'sessions.create tags.0',
  'nodes.list session',
  'nodes.run line',
  'nodes.write text',
  // A name that a file cannot have is kept under another.
  'definitions.create spec.name',
  'definitions.create spec.steps.one.node',
  'definitions.validate spec.name',
])

/** Neighbours may name any file of the machine, and callers with a token none (test/daemon/doors.test.ts). */
export const FILES = new Set(['runs.start file', 'runs.stream file'])

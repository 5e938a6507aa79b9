import { describe, expect, it } from 'vitest'
import { defineNode } from '../../define/node.ts'
import { graph } from '../../define/graph.ts'
import { nodeFactory } from '../sessions/node-kinds.ts'
import { checkConfig, withDefaults } from './check-config.ts'

const check = (given: unknown) => checkConfig(given, { dir: '/project', factory: nodeFactory })

describe('checkConfig', () => {
  it('says everything that is wrong at once, and where', async () => {
    const shout = defineNode('shout', (text: string) => text)
    expect(
      await check({
        node: [],
        nodes: [{ kind: 'bsah', id: 'a' }, { kind: 'bash', id: 'b', comand: 'x' }, 7, shout, { node: shout, az: 'x' }],
        sessions: {
          'a/b': { nodes: [] },
          one: { tag: ['x'], nodes: ['shot', 'shout'] },
          two: { tags: [''], nodes: ['shout', { kind: 'identity', id: 'Shout' }] },
          three: [],
        },
        defaults: { budget: { token: 1 }, nodes: { bsh: {}, bash: 1 }, cwd: '/' },
      }),
    ).toEqual({
      problems: [
        `node: there is no such field. Did you mean 'nodes'?`,
        `defaults.cwd: there is no such field. Known: budget, nodes.`,
        expect.stringContaining(`defaults.nodes.bsh: there is no such kind of node. Did you mean 'bash'?`),
        `defaults.nodes.bash: give an object.`,
        expect.stringContaining(`defaults: budget: 'token' is not something that can be limited`),
        expect.stringContaining(`nodes[0]: kind: "bsah" is not a kind of node. Did you mean 'bash'?`),
        `nodes[1]: bash 'b' has no option 'comand'. Did you mean 'command'?`,
        expect.stringContaining(`nodes[2]: this is no node.`),
        `nodes[4].az: there is no such field. Did you mean 'as'?`,
        expect.stringContaining(`sessions.a/b: this is not a name for a session.`),
        `sessions.one.tag: there is no such field. Did you mean 'tags'?`,
        `sessions.one.nodes[0]: there is no 'shot' among the nodes. Did you mean 'shout'?`,
        `sessions.two.tags: give a list of texts.`,
        `sessions.two.nodes[0]: 'shout' is in the session 'one' already.`,
        `sessions.three: give an object.`,
        expect.stringContaining(`the name 'shout' is used twice.`),
        expect.stringContaining(`the name 'Shout' is used twice.`),
      ],
    })
    expect(await check(undefined)).toEqual({
      problems: ['it has no default export that is an object: export default config({ nodes: […] }).'],
    })
    expect(await check({ nodes: {} })).toEqual({ problems: ['nodes: give a list.'] })
    expect(await check({ sessions: { work: {}, Work: {} } })).toEqual({
      problems: [expect.stringContaining('sessions.Work: the name is used twice.')],
    })
  })

  it.each([
    [{ kind: 'bash', cwd: 5 }, 'cwd must be text.'],
    [{ kind: 'bash', shell: ['zsh'] }, 'shell must be text.'],
    [{ kind: 'http', url: 5 }, 'url must be text, or a function'],
    [{ kind: 'http', headers: ['accept'] }, 'headers must be an object of names and values'],
    [{ kind: 'terminal', command: ['bash', '-l'] }, 'command must be text.'],
    [{ kind: 'terminal', args: '-l' }, 'args must be a list of texts.'],
    [{ kind: 'terminal', env: { A: 5 } }, 'env.A must be text'],
    [{ kind: 'terminal', inherit: 'PATH' }, 'inherit must be a list of names.'],
    [{ kind: 'terminal', readyPattern: '> $' }, 'readyPattern must be a regular expression'],
  ])('says what is wrong with %j', async (node, problem) => {
    expect(await check({ nodes: [{ id: 'a', ...node }] })).toEqual({ problems: [expect.stringContaining(problem)] })
  })

  it('makes sessions of it: what none names is in the default one', async () => {
    const flow = graph('flow').step('one', 'a', {})
    const checked = await check({
      nodes: [{ kind: 'bash', id: 'a' }, { kind: 'identity', id: 'b' }, flow],
      sessions: { work: { tags: ['w'], nodes: ['b', { node: { kind: 'identity', id: 'c' }, as: 'd', after: ['b'] }] } },
      defaults: { budget: { usd: 2 }, nodes: { bash: { timeout: '5s' } } },
    })
    if ('problems' in checked) throw new Error(checked.problems.join())
    expect(checked.definitions).toEqual([flow])
    expect(checked.budget).toEqual({ usd: 2 })
    expect(checked.sessions).toMatchObject([
      { name: 'work', tags: ['w'], nodes: [{ node: { id: 'b' } }, { node: { id: 'c' }, as: 'd', after: ['b'] }] },
      { name: 'default', nodes: [{ node: { id: 'a' } }, { node: flow }] },
    ])
  })
})

describe('withDefaults', () => {
  const fields = { bash: { timeout: '5s', cwd: 'sub' } }

  it('lays the defaults of the kind below, and puts nodes into the folder of the project', () => {
    const made = (config: { kind: string; [field: string]: unknown }) =>
      withDefaults({ id: 'a', ...config }, { dir: '/project', fields })
    expect(made({ kind: 'bash' })).toEqual({ kind: 'bash', id: 'a', timeout: '5s', cwd: '/project/sub' })
    expect(made({ kind: 'bash', timeout: '1s', cwd: '/x' })).toMatchObject({ timeout: '1s', cwd: '/x' })
    expect(made({ kind: 'terminal', in: 'tmux' })).toMatchObject({
      cwd: '/project',
      in: { mux: 'tmux', project: '/project' },
    })
    expect(made({ kind: 'http' })).toEqual({ kind: 'http', id: 'a' })
  })
})

it('says which nodes cannot be started in the order that they ask for', async () => {
  const node = (id: string, after: readonly string[]) => ({ node: { kind: 'identity', id }, after })
  const given = {
    nodes: [node('a', ['b']), node('b', ['c']), node('c', ['a']), node('d', ['bb'])],
    sessions: { work: { nodes: [node('e', ['a'])] } },
  }
  expect(await checkConfig(given, { dir: '/', factory: nodeFactory })).toEqual({
    problems: [
      "session 'work': 'e' comes after 'a', which is not in it.",
      "session 'default': 'd' comes after 'bb', which is not in it. Did you mean 'b'?",
      "session 'default': 'a' comes after itself.",
    ],
  })
})

describe('notify', () => {
  const hook = { url: 'https://hooks.example/x', secretEnv: 'HOOK_SECRET' }

  it('is taken as it is said, and is empty when nothing is', async () => {
    const notify = { desktop: true, webhooks: [{ ...hook, on: ['question', 'failed'] }] }
    expect(await check({ notify })).toMatchObject({ notify })
    expect(await check({})).toMatchObject({ notify: {} })
  })

  it('says everything that is wrong, and never repeats a secret', async () => {
    const webhooks = [
      hook,
      { ...hook, secret: 'x', on: ['fialed', 7] },
      { url: 'ftp://a', secretEnv: 'a secret that was put here' },
      { url: 'https://me:mine@a', secretEnv: 'A', on: [] },
      { url: 'nowhere' },
      'https://a',
    ]
    expect(await check({ notfy: {}, notify: { desktp: true, desktop: 1, webhooks } })).toEqual({
      problems: [
        `notfy: there is no such field. Did you mean 'notify'?`,
        `notify.desktp: there is no such field. Did you mean 'desktop'?`,
        `notify.desktop: give true or false.`,
        `notify.webhooks[1].secret: there is no such field. Did you mean 'secretEnv'?`,
        `notify.webhooks[1].on: "fialed" is nothing to be told of. Did you mean 'failed'?`,
        `notify.webhooks[1].on: 7 is nothing to be told of. Known: question, completed, failed, budget.`,
        `notify.webhooks[1].url: it is used twice. Keep one of them, with all that it is told of.`,
        `notify.webhooks[2].url: "ftp:" is not for webhooks: give https://… or http://….`,
        `notify.webhooks[2].secretEnv: give the name of the environment variable that has the secret, not the secret.`,
        `notify.webhooks[3].url: leave out the name and the password: requests are signed with the secret.`,
        `notify.webhooks[3].on: give a list of what it is told of: question, completed, failed, budget.`,
        `notify.webhooks[4].url: this is not an address. Give https://….`,
        `notify.webhooks[4].secretEnv: give the name of the environment variable that has the secret, not the secret.`,
        `notify.webhooks[5]: give an object: { url, secretEnv }.`,
      ],
    })
    expect(await check({ notify: { webhooks: {} } })).toEqual({ problems: ['notify.webhooks: give a list.'] })
    expect(await check({ notify: [] })).toEqual({ problems: ['notify: give an object.'] })
  })
})

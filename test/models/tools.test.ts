/** Tools: what a model may use, as steps of the run. */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { createHost, defineNode, workflow, type Host } from 'nerve'
import { graph } from 'nerve/graph'
import { mcp } from 'nerve/mcp'
import { askUser, getUserMessages, llm, mcpTools, tool, type Tool } from 'nerve/models'
import { bash } from 'nerve/nodes'
import { emitted, expectSame, paths } from '../behaviour/journal-views.ts'
import { temporary } from '../behaviour/session-stage.ts'
import { gate, openStage, rejection, timePasses, until } from '../behaviour/stage.ts'
import { lastUser, scriptedModel, toolResults, type Asked, type Said } from './scripted-model.ts'

const SERVER = fileURLToPath(new URL('../mcp/server.ts', import.meta.url))
const NUMBERS = z.object({ a: z.number(), b: z.number() })
const add = tool(
  defineNode('add', ({ a, b }: { a: number; b: number }) => a + b, { description: 'Adds.', input: NUMBERS }),
)

/** A model that uses tools once and then says what they gave. */
function using(...calls: { tool: string; input: unknown }[]) {
  return scriptedModel((asked: Asked): Said => {
    return lastUser(asked).replies === 0 ? { calls } : { text: toolResults(asked).join(' | ') }
  })
}

async function answers(host: Host, tools: readonly Tool[], ...calls: { tool: string; input: unknown }[]) {
  const run = await host.start(llm('ask', { model: using(...calls), tools }), 'go')
  return { run, text: await run.result() }
}

describe('tools', () => {
  it('are steps, with the schema of what they run, and are replayed', async () => {
    const { host } = await openStage()
    const model = using({ tool: 'add', input: { a: 1, b: 2 } })
    const run = await host.start(llm('ask', { model, tools: [add] }), 'go')
    expect(await run.result()).toBe('text: 3')
    expect(model.asked[0]?.tools).toMatchObject([
      {
        name: 'add',
        description: 'Adds.',
        inputSchema: { properties: { a: { type: 'number' } }, required: ['a', 'b'] },
      },
    ])
    expect(await paths(host, run.id)).toEqual(['model', 'tools/1/add', 'tools/1', 'model#2'])
    await expectSame(host, run.id)
  })

  it('run at the same time, or one after the other', async () => {
    const { host } = await openStage()
    const open = gate()
    const begun: number[] = []
    const slow = tool(
      async ({ n }: { n: number }) => {
        begun.push(n)
        if (n === 1) await open.promise
        return n
      },
      { name: 'slow', description: 'Waits.', input: z.object({ n: z.number() }) },
    )
    const calls = [1, 2, 3].map((n) => ({ tool: 'slow', input: { n } }))
    const together = await host.start(llm('ask', { model: using(...calls), tools: [slow] }), 'go')
    await until(() => begun.length === 3)
    begun.length = 0
    const apart = await host.start(llm('ask', { model: using(...calls), tools: [slow], parallelTools: false }), 'go')
    await until(() => begun.length === 1)
    open.resolve()
    expect(await together.result()).toBe('text: 1 | text: 2 | text: 3')
    expect(await apart.result()).toBe('text: 1 | text: 2 | text: 3')
    expect(begun).toEqual([1, 2, 3])
  })

  it('can be graphs, workflows, functions and names', async () => {
    const { host } = await openStage()
    host.register(defineNode('shouter', (text: string) => text.toUpperCase()))
    const double = workflow('double', { description: 'Doubles.', input: z.object({ n: z.number() }) }, (ctx, { n }) =>
      ctx.step('times', () => n * 2),
    )
    const both = graph<{ n: number }>('both', { input: z.object({ n: z.number() }) }).step(
      'half',
      defineNode('half', (n: number) => n / 2),
      { inputFn: (_, { input }) => input.n },
    )
    const { run, text } = await answers(
      host,
      [
        tool(double),
        tool(both, { description: 'Halves.' }),
        tool('shouter', { name: 'shout', description: 'Shouts.', input: { type: 'string' } }),
      ],
      { tool: 'double', input: { n: 4 } },
      { tool: 'both', input: { n: 4 } },
      { tool: 'shout', input: { input: 'hi' } },
    )
    expect(text).toBe('text: 8 | text: {"half":2} | text: HI')
    expect((await paths(host, run.id)).toSorted()).toEqual([
      'model',
      'model#2',
      'tools/1',
      'tools/1/double/times',
      'tools/2',
      'tools/2/both/half',
      'tools/3',
      'tools/3/shout',
    ])
  })

  it('tell the model what went wrong, and the run has not failed', async () => {
    const { host } = await openStage()
    const fails = tool(
      () => {
        throw new Error('no such city')
      },
      { name: 'fails', description: 'Fails.', input: { type: 'object' } },
    )
    const inside = workflow('inside', (ctx) => ctx.sleep('0s').then(() => Promise.reject(new Error('not here'))))
    const { run, text } = await answers(
      host,
      [add, fails, tool(inside, { description: 'Fails.', input: { type: 'object' } })],
      { tool: 'nope', input: {} },
      { tool: 'add', input: { a: 'x', b: 2 } },
      { tool: 'add', input: '{"a":' },
      { tool: 'fails', input: {} },
      { tool: 'inside', input: {} },
    )
    expect(String(text).split(' | ')).toEqual([
      "error-text: There is no tool 'nope'. There are: add, fails, inside.",
      expect.stringMatching(/^error-text: The input does not fit 'add': a: .*number/),
      "error-text: The input of 'add' is not JSON. Send it again.",
      'error-text: no such city',
      'error-text: not here',
    ])
    expect((await host.run(run.id)).status).toBe('completed')
    await expectSame(host, run.id)
  })

  it('do what their policy says about failures', async () => {
    const { host } = await openStage()
    let tries = 0
    const flaky = (): number => {
      tries += 1
      if (tries < 2) throw new Error('again')
      return tries
    }
    const shared = { description: 'Fails.', input: { type: 'object' } }
    const retried = tool(flaky, { name: 'flaky', ...shared, policy: { attempts: 2, backoff: 1 } })
    const { run } = await answers(await openHost(), [retried], { tool: 'flaky', input: {} })
    expect(await run.result()).toBe('text: 2')
    const broken = (): never => {
      throw new Error('broken')
    }
    const strict = tool(broken, { name: 'strict', ...shared, policy: { onError: 'fail' } })
    expect((await rejection(answers(host, [strict], { tool: 'strict', input: {} }))).message).toMatch(/broken/)
    const skipped = tool(broken, { name: 'skipped', ...shared, policy: { onError: { skip: 'none' } } })
    expect((await answers(host, [skipped], { tool: 'skipped', input: {} })).text).toBe('text: none')
  })

  it('give what a shell command said when it failed', async () => {
    const { host } = await openStage()
    const sh = tool(bash('sh', { effect: 'repeatable' }), { description: 'Runs a command.', input: { type: 'string' } })
    const { text } = await answers(host, [sh], { tool: 'sh', input: { input: 'echo out; echo err >&2; exit 3' } })
    expect(text).toMatch(/^error-text: .*exit code 3/)
    expect(text).toContain('out\\n')
  })

  it('have results of a limited size; all of a longer one is in a file', async () => {
    const { host } = await openStage()
    const dir = temporary()
    const long = 'x'.repeat(60) + 'y'.repeat(60)
    const node = tool(() => long, { name: 'long', description: 'Long.', input: { type: 'object' }, maxResult: 40 })
    const flow = tool(
      workflow('flow', () => long),
      { description: 'Long.', input: { type: 'object' }, maxResult: 40 },
    )
    const model = using({ tool: 'long', input: {} }, { tool: 'flow', input: {} })
    const run = await host.start(llm('ask', { model, tools: [node, flow], spillDir: `${dir}/spilled` }), 'go')
    const text = String(await run.result())
    const files = [...text.matchAll(/in the file (.+) …/g)].map(([, file = '']) => file)
    expect(files.length).toBe(2)
    expect(readFileSync(files[0] as string, 'utf8')).toBe(long)
    expect(text).toContain(`${'x'.repeat(20)}\n… 80 characters are left out`)
    await expectSame(host, run.id)
    expect(existsSync(files[1] as string)).toBe(true)
  })

  it('are used only as often as allowed; then the model has to answer', async () => {
    const { host, clock } = await openStage()
    const model = scriptedModel(({ toolChoice }) =>
      toolChoice?.type === 'none' ? 'enough' : { calls: [{ tool: 'add', input: { a: 1, b: 1 } }] },
    )
    const run = await host.start(llm('ask', { model, tools: [add], rounds: 2, toolChoice: 'required' }), 'go')
    expect(await run.result()).toBe('enough')
    expect(model.asked.map(({ toolChoice }) => toolChoice?.type)).toEqual(['required', 'auto', 'none'])
    expect(await emitted(host, run.id)).toEqual([['limit-reached', { node: 'ask', iterations: 2 }]])
    const deaf = scriptedModel(() => ({ calls: [{ tool: 'add', input: { a: 1, b: 1 } }] }))
    const asking = await host.start(llm('ask', { model: deaf, tools: [add], rounds: 1 }), 'go')
    expect((await rejection(timePasses(clock, asking.result()))).message).toMatch(/tool choice was none|asked for more/)
    expect((await host.run(asking.id)).status).toBe('failed')
  })

  it('ask a person first, when they need approval', async () => {
    const { host } = await openStage()
    const removed: string[] = []
    const remove = tool(({ path }: { path: string }) => removed.push(path), {
      name: 'remove',
      description: 'Removes a file.',
      input: z.object({ path: z.string() }),
      approval: ({ path }) => !path.startsWith('tmp'),
    })
    const calls = ['tmp/a', 'b', 'c', 'd'].map((path) => ({ tool: 'remove', input: { path } }))
    const model = using(...calls)
    const run = await host.start(llm('ask', { model, tools: [remove] }), 'go')
    await until(async () => (await host.inbox()).length === 3)
    const [b, c, d] = await host.inbox()
    expect(b).toMatchObject({
      kind: 'permission',
      prompt: "May 'ask' use the tool 'remove'?",
      choices: ['allow', 'deny', 'deny and say why'],
      detail: { tool: 'remove', input: { path: 'b' } },
    })
    await host.answer(b?.id ?? '', 'allow')
    await host.answer(c?.id ?? '', 'deny')
    await host.answer(d?.id ?? '', 3)
    await until(async () => (await host.inbox()).length === 1)
    await host.answer((await host.inbox())[0]?.id ?? '', 'I need it')
    expect(String(await run.result()).split(' | ')).toEqual([
      'text: 1',
      'text: 2',
      "error-text: The user did not allow this use of 'remove'.",
      "error-text: The user did not allow this use of 'remove'. The reason: I need it",
    ])
    expect(removed).toEqual(['tmp/a', 'b'])
    await expectSame(host, run.id)
  })

  it('ask_user asks, get_user_messages gives what people wrote', async () => {
    const { host } = await openStage()
    const model = using(
      { tool: 'ask_user', input: { question: 'Which colour?', choices: ['red', 'blue'] } },
      { tool: 'get_user_messages', input: {} },
    )
    const run = await host.start(
      llm('ask', { model, tools: [askUser(), getUserMessages()], parallelTools: false }),
      'go',
    )
    await until(async () => (await host.inbox()).length === 1)
    await run.signal('message', 'be quick')
    await host.answer((await host.inbox())[0]?.id ?? '', 'blue')
    expect(await run.result()).toBe('text: blue | text: ["be quick"]')
    await expectSame(host, run.id)
  })

  it('can be those of an MCP server', async () => {
    const { host } = await openStage()
    const server = mcp('sums', { command: process.execPath, args: [SERVER] })
    onTestFinished(() => server.stop())
    const tools = await mcpTools(server, { only: ['add'], prefix: 'sums_' })
    expect(tools.map(({ name }) => name)).toEqual(['sums_add'])
    expect((await answers(host, tools, { tool: 'sums_add', input: { a: 2, b: 3 } })).text).toBe('text: 5')
    await expect(mcpTools(server, { only: ['nope'] })).rejects.toThrow(/'sums' has no tool nope/)
  })

  it('say what is wrong with them', () => {
    const plain = defineNode('plain node', () => 1)
    expect(() => tool(plain)).toThrow(/'plain_node' has no description/)
    expect(() => tool(plain, { description: 'x' })).toThrow(/say what it takes/)
    expect(() => tool(plain, { description: 'x', name: 'a b' })).toThrow(/not a name for a tool/)
    expect(() => tool(plain, { description: 'x', max: 1 } as never)).toThrow(/no option 'max'/)
    const model = scriptedModel([])
    expect(() => llm('a', { model, tools: [add, add] })).toThrow(/two tools have the name 'add'/)
    expect(() => llm('a', { model, tools: [plain as never] })).toThrow(/something that is no tool/)
  })
})

async function openHost(): Promise<Host> {
  const host = await createHost({ store: 'memory' })
  onTestFinished(() => host.close())
  return host
}

/** Nerve as an MCP server over HTTP, with the official client, in both eras of the protocol. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StreamableHTTPClientTransport, type Client, type Progress } from '@modelcontextprotocol/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { rejection } from '../behaviour/stage.ts'
import {
  ERAS,
  dataOf,
  officialClient,
  publish,
  surfaceUnderTest,
  textOf,
  tool,
  type Surface,
} from './surface-under-test.ts'

const START = { definition: 'publish', input: { file: 'a.md' }, wait: true }

describe.each(ERAS)('%s', (era) => {
  it('starts a run, is asked its question, and gets the result', async () => {
    const { connect, host } = await surfaceUnderTest()
    const { client, asked } = await connect({ era, fill: () => ({ answer: 'yes' }) })
    const done = dataOf(await tool(client, 'runs_start', START))
    expect(done).toMatchObject({ status: 'completed', ended: true, output: { file: 'a.md', answer: 'yes' } })
    expect(asked).toEqual([
      { message: 'Publish draft of a.md?', fields: { answer: expect.objectContaining({ enum: ['yes', 'no'] }) } },
    ])
    const events = (await host.journal(done.run)).map(({ event }) => event)
    expect(events.find(({ type }) => type === 'question-answered')).toMatchObject({ by: 'default', via: 'mcp' })
    expect(await host.runs()).toHaveLength(1)
  })

  it('a client that cannot be asked is told of the question, and answers it with a tool', async () => {
    const { connect } = await surfaceUnderTest()
    const { client } = await connect({ era })
    const begun = dataOf(await tool(client, 'runs_start', START))
    expect(begun).toMatchObject({ status: 'waiting', ended: false, questions: [{ prompt: 'Publish draft of a.md?' }] })
    const [question] = dataOf(await tool(client, 'questions_list'))
    expect(begun.next).toContain(`questions_answer with question "${question.id}"`)
    await tool(client, 'questions_answer', { question: question.id, value: 'no' })
    expect(dataOf(await tool(client, 'runs_wait', { run: begun.run }))).toMatchObject({ output: { answer: 'no' } })
  })

  it('questions of a run and of its child are asked together, and one whose answer does not fit is asked again', async () => {
    const { connect } = await surfaceUnderTest()
    const ages = ['old', '{"years":"many"}', '{"years":7}']
    const { client, asked } = await connect({
      era,
      fill: ({ message }) => (message.includes('name') ? { answer: '7' } : { value: ages.shift() ?? '' }),
    })
    const run = dataOf(await tool(client, 'runs_start', { definition: 'survey' })).run
    const done = dataOf(await tool(client, 'runs_wait', { run }))
    expect(done).toMatchObject({ ended: true, output: { name: '7', age: { years: 7 } } })
    const ofAge = asked.map(({ message }) => message).filter((message) => message.includes('age'))
    expect(ofAge).toEqual([
      expect.stringMatching(/^Your age\?\n\n\{\n {2}"why": "statistics"\n\}$/),
      expect.stringMatching(/does not fit.*\n\nYour age\?/s),
      expect.stringMatching(/does not fit.*years.*\n\nYour age\?/s),
    ])
    expect(asked).toHaveLength(4)
  })

  it('a person who does not want to answer is not asked again in the same call', async () => {
    const { connect, host } = await surfaceUnderTest()
    const words = ['decline', { answer: 'yes' }] as const
    let at = 0
    const { client, asked } = await connect({ era, fill: () => words[at++] ?? 'decline' })
    const begun = dataOf(await tool(client, 'runs_start', START))
    expect(begun).toMatchObject({ ended: false, questions: [{ choices: ['yes', 'no'] }] })
    expect(asked).toHaveLength(1)
    expect(await host.inbox()).toHaveLength(1)
    expect(dataOf(await tool(client, 'runs_wait', { run: begun.run }))).toMatchObject({ output: { answer: 'yes' } })
  })

  it('what was answered elsewhere in the meantime stays as it was answered', async () => {
    const { connect, host } = await surfaceUnderTest()
    const fill = async () => {
      const [question] = await host.inbox()
      await host.answer(question?.id ?? '', 'no', { via: 'web' })
      return { answer: 'yes' }
    }
    const { client } = await connect({ era, fill })
    expect(dataOf(await tool(client, 'runs_start', START))).toMatchObject({ output: { answer: 'no' } })
  })

  it('many questions are asked as long as clients go along, and then told; progress grows on the way', async () => {
    const { connect } = await surfaceUnderTest()
    const { client, asked } = await connect({ era, fill: ({ message }) => ({ answer: message.slice(9, -1) }) })
    const numbers: number[] = []
    const begun = await client.callTool(
      { name: 'runs_start', arguments: { definition: 'many', wait: true } },
      // The client counts its rounds as progress, too.
      { onprogress: ({ progress, message = '' }) => void (message.startsWith('Fulfilling') || numbers.push(progress)) },
    )
    const { run, questions } = dataOf(begun)
    expect(questions).toMatchObject([{ prompt: 'Question 8?' }])
    expect(asked).toHaveLength(8)
    expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b))
    expect(dataOf(await tool(client, 'runs_wait', { run }))).toMatchObject({ output: '0123456789' })
  })

  it('tells of progress while it waits, and stops waiting when it is told to', async () => {
    const { connect } = await surfaceUnderTest()
    const { client } = await connect({ era })
    const { run } = dataOf(await tool(client, 'runs_start', { definition: 'waiting' }))
    const heard: Progress[] = []
    const wait = client.callTool(
      { name: 'runs_wait', arguments: { run, until: 'end' } },
      { onprogress: (progress) => void heard.push(progress) },
    )
    // Told from the moment on at which it listens: something has to happen until then.
    const nudging = setInterval(() => void tool(client, 'signals_send', { run, name: 'other' }), 50)
    await expect.poll(() => heard.length).toBeGreaterThan(1)
    clearInterval(nudging)
    await tool(client, 'signals_send', { run, name: 'go', value: 1 })
    expect(dataOf(await wait)).toMatchObject({ ended: true, output: 1 })
    expect(heard[0]).toMatchObject({ message: expect.stringMatching(/^signal-received/) })
    const numbers = heard.map(({ progress }) => progress)
    expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b))
    const { run: other } = dataOf(await tool(client, 'runs_start', { definition: 'waiting' }))
    expect(dataOf(await tool(client, 'runs_wait', { run: other, until: 'end', timeout: 10 }))).toMatchObject({
      ended: false,
      signals: ['go'],
      next: expect.stringContaining('signals_send'),
    })
  })

  it('pauses, resumes, lists, shows and cancels runs', async () => {
    const { connect } = await surfaceUnderTest()
    const { client } = await connect({ era })
    const { run } = dataOf(await tool(client, 'runs_start', { definition: 'waiting' }))
    await tool(client, 'runs_pause', { run })
    // Does not wait for what does not come by itself.
    expect(dataOf(await tool(client, 'runs_wait', { run }))).toMatchObject({
      status: 'paused',
      next: expect.stringContaining('runs_resume'),
    })
    await tool(client, 'runs_resume', { run })
    expect(dataOf(await tool(client, 'runs_list', { status: ['waiting'] }))).toMatchObject([{ run }])
    await tool(client, 'runs_cancel', { run, reason: 'enough' })
    expect(dataOf(await tool(client, 'runs_get', { run }))).toMatchObject({ status: 'cancelled' })
    const journal = dataOf(await tool(client, 'runs_journal', { run, after: 1 }))
    expect(journal).toContainEqual(expect.objectContaining({ type: 'cancel-requested', reason: 'enough', via: 'mcp' }))
    expect(dataOf(await tool(client, 'runs_wait', { run }))).toMatchObject({
      ended: true,
      error: { code: 'cancelled' },
    })
  })

  it('workflows are tools with their schemas: they give what the workflow gives', async () => {
    const { connect, host } = await surfaceUnderTest({ workflows: 'all' })
    const { client } = await connect({ era, fill: () => ({ answer: 'yes' }) })
    const { tools } = await client.listTools()
    const shown = (name: string) => tools.find((one) => one.name === name)
    expect(shown('publish')).toMatchObject({
      description: 'Publishes a file',
      inputSchema: { required: ['file'], properties: { file: { type: 'string' }, copies: { type: 'integer' } } },
    })
    expect(shown('my_greet')?.inputSchema).toMatchObject({
      required: ['input'],
      properties: { input: { type: 'string' } },
    })
    const done = await tool(client, 'publish', { file: 'a.md' })
    expect([textOf(done), dataOf(done)]).toEqual([
      '{"file":"a.md","answer":"yes"}',
      expect.objectContaining({ status: 'completed', run: expect.any(String) }),
    ])
    expect(textOf(await tool(client, 'my_greet', { input: 'Ada' }))).toBe('Hello Ada')
    const failed = await tool(client, 'failing')
    expect(failed).toMatchObject({ isError: true, structuredContent: { error: { message: 'no luck' } } })
    expect(JSON.stringify(failed)).not.toContain('.ts:')
    const before = (await host.runs()).length
    const wrong = await tool(client, 'publish', { file: 3, copies: 0 })
    expect(wrong).toMatchObject({ isError: true, structuredContent: { error: { code: 'bad-input' } } })
    expect(textOf(wrong)).toMatch(/file: .*copies: /s)
    // Models often give what belongs into `input` beside it: without a word, the run would start with nothing.
    for (const [name, flat] of [
      ['survey', { topic: 'moss' }],
      ['my_greet', { input: 'Ada', name: 'Bob' }],
    ] as const)
      expect(textOf(await tool(client, name, flat))).toMatch(/"(topic|name)" is not taken.*\{"input": …\}.*bad-input/)
    expect(await host.runs()).toHaveLength(before)
  })

  it('the tool that starts runs says that it needs a name, and takes no file', async () => {
    const { connect } = await surfaceUnderTest()
    const { client } = await connect({ era })
    const { tools } = await client.listTools()
    const { inputSchema } = tools.find(({ name }) => name === 'runs_start') ?? {}
    expect(inputSchema).toMatchObject({ required: ['definition'] })
    expect(JSON.stringify(inputSchema)).not.toContain('file')
  })

  it('runs are resources', async () => {
    const { connect } = await surfaceUnderTest()
    const { client } = await connect({ era })
    const { run } = dataOf(await tool(client, 'runs_start', { definition: 'my.greet', input: 'Ada', wait: true }))
    const { resources } = await client.listResources()
    expect(resources.map(({ uri }) => uri)).toEqual(['nerve://runs', `nerve://runs/${run}`])
    const read = async (uri: string) => {
      const [first] = (await client.readResource({ uri })).contents
      return JSON.parse(first !== undefined && 'text' in first ? first.text : '')
    }
    expect(await read('nerve://runs')).toMatchObject([{ run, status: 'completed' }])
    const one = await read(`nerve://runs/${run}`)
    expect(one).toMatchObject({ run: { run }, events: one.journal.length })
    expect(one.journal.at(-1)).toMatchObject({ type: 'run-completed', output: 'Hello Ada' })
    expect((await rejection(client.readResource({ uri: 'nerve://runs/nothing' }))).message).toContain('nothing')
  })

  it('what goes wrong is told as the result', async () => {
    const { connect, problems } = await surfaceUnderTest()
    const { client } = await connect({ era })
    expect(textOf(await tool(client, 'runs_start', { definition: 'publis' }))).toMatch(
      /Did you mean 'publish'.*not-found/s,
    )
    expect(await tool(client, 'runs_wait', { run: 'nothing' })).toMatchObject({ isError: true })
    expect(textOf(await tool(client, 'runs_get', { rum: 'x' }))).toContain('run')
    expect(problems).toEqual([])
  })

  it.each([
    ['read', ['runs_list', 'runs_wait'], ['runs_start', 'publish', 'questions_answer', 'nodes_execute']],
    ['answer', ['runs_list', 'questions_answer', 'signals_send'], ['runs_start', 'publish', 'runs_cancel']],
    ['control', ['runs_start', 'publish', 'nodes_execute'], ['nodes_create']],
  ] as const)('a token for %s has the tools for that, and no others', async (scope, some, none) => {
    const { connect, tokens, host } = await surfaceUnderTest({ workflows: ['publish'] })
    const { client } = await connect({ era, token: tokens.create('phone', scope).secret })
    const names = (await client.listTools()).tools.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining([...some]))
    for (const name of none) {
      expect(names).not.toContain(name)
      const refused = await tool(client, name, { definition: 'publish', question: 'x', value: 1 }).catch(String)
      expect(JSON.stringify(refused)).toMatch(/not found|Unknown/i)
    }
    expect(await host.runs()).toEqual([])
  })

  it('who may only look is not asked either', async () => {
    const { connect, tokens, host } = await surfaceUnderTest()
    const run = await host.start(publish, { file: 'a.md' })
    const { client, asked } = await connect({
      era,
      token: tokens.create('phone', 'read').secret,
      fill: () => ({ answer: 'yes' }),
    })
    const seen = dataOf(await tool(client, 'runs_wait', { run: run.id }))
    expect(seen).toMatchObject({ ended: false, next: 'A person has to answer its question.' })
    expect(asked).toEqual([])
  })
})

it('an answer that comes after a new start of the server is still good', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-mcp-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const manual = async ({ url, tokens }: Surface): Promise<Client> => {
    const { client } = officialClient({ era: 'today', fill: () => 'decline', byHand: true })
    const requestInit = { headers: { authorization: `Bearer ${tokens.list()[0]?.secret}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
    return client
  }
  const params = { name: 'runs_start', arguments: START }
  const before = await surfaceUnderTest({}, { host: { dir } })
  const asked = (await (await manual(before)).callTool(params, { allowInputRequired: true })) as unknown as {
    readonly inputRequests: Readonly<Record<string, unknown>>
    readonly requestState: string
  }
  await before.end()
  const client = await manual(await surfaceUnderTest({}, { host: { dir } }))
  const [question = ''] = Object.keys(asked.inputRequests)
  const answered = { ...params, inputResponses: { [question]: { action: 'accept', content: { answer: 'no' } } } }
  const forged = await client.callTool({ ...answered, requestState: '{"run":1}' } as never)
  expect(forged).toMatchObject({ isError: true, structuredContent: { error: { code: 'bad-input' } } })
  const done = await client.callTool({ ...answered, requestState: asked.requestState } as never)
  expect(dataOf(done)).toMatchObject({ output: { answer: 'no' } })
  expect(dataOf(await tool(client, 'runs_list'))).toHaveLength(1)
})

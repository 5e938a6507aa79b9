/** What happens to a call that waits, and to names and results that are not as models like them. */
import { workflow } from 'nerve'
import { describe, expect, it } from 'vitest'
import { ERAS, dataOf, publish, surfaceUnderTest, textOf, tool } from './surface-under-test.ts'

const START = { definition: 'publish', input: { file: 'a.md' }, wait: true }
const LONG = 'x'.repeat(80)

const odd = [
  ...['runs.start', 'questions_list', 'überprüfen', 'a b', 'a:b', 'a_b', `${LONG}1`, `${LONG}2`].map((name) =>
    workflow(name, async () => `this is ${name}`),
  ),
  workflow('vast', async () => 'x'.repeat(2_000_000)),
  workflow('dear', { budget: { steps: 1 } }, async (ctx) => {
    await ctx.waitFor('go', { label: 'go' })
    for (let i = 0; i < 3; i += 1) await ctx.step(`step-${i}`, () => i)
  }),
  workflow('doomed', async (ctx) => {
    await ctx.waitFor('go', { label: 'go' })
    await ctx.step('bad', () => Promise.reject(new Error('no luck')))
  }),
]
const host = { store: 'memory', definitions: odd } as const

describe.each(ERAS)('%s', (era) => {
  it('workflows with the names of tools, or with names that models cannot say, are tools all the same', async () => {
    const { connect } = await surfaceUnderTest({ workflows: 'all' }, { host })
    const { client } = await connect({ era })
    const { tools } = await client.listTools()
    const names = tools.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(names.filter((name) => !/^[\w-]{1,64}$/.test(name))).toEqual([])
    // The tools of Nerve keep their names.
    expect(dataOf(await tool(client, 'questions_list'))).toEqual([])
    expect(dataOf(await tool(client, 'runs_start', { definition: 'runs.start', wait: true }))).toMatchObject({
      output: 'this is runs.start',
    })
    const said: string[] = []
    for (const name of names.filter((one) => /_2$|berpr|a_b|^x+/.test(one))) said.push(textOf(await tool(client, name)))
    expect(said.toSorted()).toEqual(
      odd
        .slice(0, 8)
        .map(({ name }) => `this is ${name}`)
        .toSorted(),
    )
  })

  it('a form that is closed is a question that stays open', async () => {
    const { connect, host: under } = await surfaceUnderTest()
    const { client, asked } = await connect({ era, fill: () => 'cancel' })
    expect(dataOf(await tool(client, 'runs_start', START))).toMatchObject({ ended: false, status: 'waiting' })
    expect(asked).toHaveLength(1)
    expect(await under.inbox()).toHaveLength(1)
  })

  it('two clients are asked at once, and the first answer counts for both', async () => {
    const { connect, host: under } = await surfaceUnderTest()
    const both = Promise.withResolvers<void>()
    let asked = 0
    const fill = (answer: string) => async () => {
      asked += 1
      if (asked === 2) both.resolve()
      await both.promise
      return { answer }
    }
    const [one, two] = [await connect({ era, fill: fill('yes') }), await connect({ era, fill: fill('no') })]
    const run = await under.start(publish, { file: 'a.md' })
    const wait = { name: 'runs_wait', arguments: { run: run.id } }
    const [first, second] = await Promise.all([one.client.callTool(wait), two.client.callTool(wait)])
    const output = (await run.result()) as { answer: string }
    expect([dataOf(first), dataOf(second)]).toMatchObject([{ output }, { output }])
    expect(['yes', 'no']).toContain(output.answer)
  })

  it('a large result comes as a whole', async () => {
    const { connect } = await surfaceUnderTest({ workflows: ['vast'] }, { host })
    const { client } = await connect({ era })
    expect(textOf(await tool(client, 'vast'))).toHaveLength(2_000_000)
  })

  it.each([
    ['fails', 'doomed', { status: 'failed', error: { message: 'no luck' } }],
    ['has spent its budget', 'dear', { status: 'exhausted', next: expect.stringContaining('runs_resume') }],
  ])('a run that %s while a call waits for it ends the call', async (_what, definition, told) => {
    const { connect, problems } = await surfaceUnderTest({}, { host })
    const { client } = await connect({ era })
    const { run } = dataOf(await tool(client, 'runs_start', { definition }))
    const waiting = tool(client, 'runs_wait', { run, until: 'end', timeout: 60_000 })
    await tool(client, 'signals_send', { run, name: 'go' })
    expect(dataOf(await waiting)).toMatchObject(told)
    expect(problems).toEqual([])
  })

  it('a run that is cancelled while a call waits for it, or for its question, ends the call', async () => {
    const { connect, host: under } = await surfaceUnderTest()
    const { client } = await connect({
      era,
      fill: async () => {
        for (const { run } of await under.inbox()) await (await under.handle(run)).cancel({ reason: 'no need' })
        return { answer: 'yes' }
      },
    })
    const ended = await tool(client, 'runs_start', START)
    expect(dataOf(ended)).toMatchObject({ status: 'cancelled', error: { code: 'cancelled' } })
    const { run } = dataOf(await tool(client, 'runs_start', { definition: 'waiting' }))
    const waiting = tool(client, 'runs_wait', { run, until: 'end', timeout: 60_000 })
    await tool(client, 'runs_cancel', { run, reason: 'enough' })
    expect(dataOf(await waiting)).toMatchObject({ ended: true, status: 'cancelled' })
  })
})

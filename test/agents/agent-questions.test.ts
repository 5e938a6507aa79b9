/** What agents want to know of a person, with an agent that needs no model. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { workflow } from 'nerve'
import { agent, scriptedAgent, type AgentAdapter, type AgentNodeOptions, type AgentQuestion } from 'nerve/agents'
import { MemoryStore } from 'nerve/testing'
import { openStage, rejection, until, type Stage } from '../behaviour/stage.ts'

let dir: string

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'nerve-agent-'))
  return () => rmSync(dir, { recursive: true, force: true })
})

const COLOUR: AgentQuestion = { text: 'Which colour?', options: [{ label: 'red' }, { label: 'blue' }], free: true }

/** Asks which colour, with other questions in the same form, and says what it was told. */
function painter(replies: unknown[], questions: readonly AgentQuestion[] = [COLOUR]): AgentAdapter {
  const adapter = scriptedAgent({
    folder: join(dir, 'sessions'),
    script: () => [{ ask: 'Which colour?', options: ['red', 'blue'] }, { say: 'painted {{answer}}' }],
  })
  return {
    ...adapter,
    open: (options) =>
      adapter.open({
        ...options,
        question: async (request) => {
          const reply = await options.question({ ...request, questions })
          replies.push(reply)
          return reply
        },
      }),
  }
}

function paint(use: AgentAdapter, options: Partial<AgentNodeOptions<unknown>> = {}) {
  const node = agent('painter', { use, cwd: dir, permission: 'allow', ...options })
  onTestFinished(() => node.stop())
  return workflow('paint', async (ctx) => (await ctx.run(node, 'Paint it.')).text)
}

async function asked({ host }: Stage, prompt: string) {
  await until(async () => (await host.inbox()).some((one) => one.prompt === prompt), prompt)
  const found = (await host.inbox()).find((one) => one.prompt === prompt)
  return { ...found, id: found?.id ?? '' }
}

describe.each(['park', 'hold'] as const)('the question of an agent (%s)', (patience) => {
  it('is asked whatever is allowed, with its options as choices', async () => {
    const stage = await openStage()
    const run = await stage.host.start(paint(painter([]), { patience }))
    const question = await asked(stage, 'Which colour?')
    expect(question).toMatchObject({
      kind: 'ask',
      choices: ['red', 'blue'],
      detail: { tool: 'ask', node: 'painter', options: [{ label: 'red' }, { label: 'blue' }] },
    })
    await stage.host.answer(question.id, 'Blue')
    expect(await run.result()).toBe('painted blue')
  })

  it('takes other words where the agent does, and nothing else', async () => {
    const stage = await openStage()
    const run = await stage.host.start(paint(painter([]), { patience }))
    const { id } = await asked(stage, 'Which colour?')
    const refused = await rejection(stage.host.answer(id, ['red', 'blue']))
    expect(refused).toMatchObject({ code: 'answer-rejected' })
    expect(refused.message).toContain('Give one of the choices, or your own words.')
    await stage.host.answer(id, 'a kind of mauve')
    expect(await run.result()).toBe('painted a kind of mauve')
  })

  it('may be several, of which each takes what it says', async () => {
    const stage = await openStage()
    const replies: unknown[] = []
    const sizes = { text: 'Which sizes?', many: true, options: [{ label: 'S' }, { label: 'L' }] }
    const closed = { text: 'Sure?', options: [{ label: 'yes' }, { label: 'no' }] }
    const use = painter(replies, [COLOUR, sizes, closed, { text: 'Why?', header: 'Reason' }])
    const run = await stage.host.start(paint(use, { patience }))
    await stage.host.answer((await asked(stage, 'Which colour?')).id, 2)
    const many = await asked(stage, 'Which sizes?')
    expect((await rejection(stage.host.answer(many.id, ['S', 'XL']))).message).toContain('or a list of them.')
    await stage.host.answer(many.id, ['S', 'L'])
    const { id } = await asked(stage, 'Sure?')
    expect(await rejection(stage.host.answer(id, 'perhaps'))).toMatchObject({ code: 'answer-rejected' })
    await stage.host.answer(id, 'yes')
    const why = await asked(stage, 'Why?')
    expect(why).toMatchObject({ detail: { header: 'Reason' } })
    expect(await rejection(stage.host.answer(why.id, undefined))).toMatchObject({ code: 'answer-rejected' })
    await stage.host.answer(why.id, 'because')
    await run.result()
    expect(replies.at(-1)).toEqual({ answers: [['blue'], ['S', 'L'], ['yes'], ['because']] })
  })

  it.each([
    ['everything is denied', { permission: 'deny' as const }, [COLOUR], 'No rule allows it.'],
    ['a rule says so', { permission: { deny: ['question'] } }, [COLOUR], 'The rule question denies it.'],
    ['it asks for a secret', {}, [{ ...COLOUR, secret: true }], 'A secret is not asked for'],
  ])('is refused when %s, and the agent is told', async (_, options, questions, why) => {
    const stage = await openStage()
    const run = await stage.host.start(paint(painter([], questions), { ...options, patience }))
    expect(await run.result()).toContain(`denied: ${why}`)
    expect(await stage.host.inbox()).toEqual([])
  })
})

it('is still there when the process is not, for each of its questions', async () => {
  const store = new MemoryStore()
  const replies: unknown[] = []
  const definition = () => paint(painter(replies, [COLOUR, { text: 'How much?' }]))
  const stages: Stage[] = []
  const next = async (): Promise<Stage> => {
    await stages.at(-1)?.host.close()
    const stage = await openStage({ store, definitions: [definition()] })
    stages.push(stage)
    return stage
  }
  const first = await next()
  const run = await first.host.start(definition())
  expect(await run.rest()).toBe('waiting')
  const second = await next()
  await second.host.answer((await asked(second, 'Which colour?')).id, 'red')
  await asked(second, 'How much?')
  const third = await next()
  await third.host.answer((await asked(third, 'How much?')).id, 'a lot')
  expect(await (await third.host.handle(run.id)).result()).toBe('painted red')
  expect(replies).toEqual([{ defer: true }, { answers: [['red'], ['a lot']] }])
})

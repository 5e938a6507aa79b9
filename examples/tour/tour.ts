/** The workflow of the tour: parallel steps, a model with tools, a retry, two questions and a budget, in plain TypeScript. */
import { appendFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { workflow } from 'nerve'
import { askUser, llm, tool } from 'nerve/models'

/** Where the model is, and the file in which everything that is really done leaves one line. */
export interface Place {
  readonly baseURL: string
  readonly apiKey: string
  readonly effects: string
}

export function tour({ baseURL, apiKey, effects }: Place) {
  /** Stands for work: takes a while, and what it does twice would be in the file twice. */
  const work = async (name: string, ms: number): Promise<string> => {
    await wait(ms)
    appendFileSync(effects, `${name}\n`)
    return name
  }

  const lookUp = tool(({ words }: { words: string }) => work(`look up ${words}`, 350), {
    name: 'look_up',
    description: 'Looks something up in the notes.',
    input: { type: 'object', properties: { words: { type: 'string' } }, required: ['words'] },
  })
  const publish = tool(({ title }: { title: string }) => work(`publish ${title}`, 150), {
    name: 'publish',
    description: 'Publishes the text.',
    input: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] },
    approval: true,
    policy: { effect: 'once' },
  })
  const writer = llm('writer', {
    model: 'openai-compatible:scripted',
    baseURL,
    apiKey,
    system: 'You write short texts. Look things up before you write, and ask before you publish.',
    tools: [lookUp, askUser(), publish],
    maxOutputTokens: 500,
  })

  return workflow('tour', { budget: { calls: 10, tokens: 20_000 } }, async (ctx) => {
    const notes = await ctx.all(
      ['docs', 'code', 'issues'].map(
        (topic, index) => () => ctx.step(`read-${topic}`, () => work(`read ${topic}`, 150 + index * 100)),
      ),
    )
    const text = await ctx.run(writer, `Write about moss, from: ${notes.join(', ')}.`)
    const links = await ctx.step(
      'check-links',
      ({ attempt }) => {
        if (attempt === 1) throw new Error('the network is away')
        return work('check links', 100)
      },
      { attempts: 3, backoff: 300 },
    )
    return { text, links }
  })
}

/**
 * Two sides debate a question for some rounds, each in a conversation of its own, and a judge decides.
 *
 *     nerve run examples/debate.ts --input "Are tests worth their time?" --param rounds=3
 *
 * The models are scripted. With ANTHROPIC_API_KEY or OPENAI_API_KEY in the environment they are real: see team/model.ts.
 */
import { workflow } from 'nerve'
import { chat, llm } from 'nerve/models'
import { modelFor } from './team/model.ts'

const model = modelFor(({ system, messages }) => {
  const [about = ''] = system
  if (about.startsWith('You judge')) return { say: '{"winner": "for", "why": "It had the better examples."}' }
  const turn = messages.filter(({ role }) => role === 'user').length
  return { say: `${about.includes('against') ? 'No' : 'Yes'}, for reason ${turn}.` }
})

const judge = llm<{ winner: 'for' | 'against'; why: string }>('judge', {
  model,
  system: 'You judge debates: who had the better arguments, and why, in one sentence.',
  jsonSchema: {
    type: 'object',
    properties: { winner: { enum: ['for', 'against'] }, why: { type: 'string' } },
    required: ['winner', 'why'],
    additionalProperties: false,
  },
  maxOutputTokens: 1_000,
})

const options = { params: { rounds: 2 }, budget: { calls: 20, tokens: 100_000 } }

export default workflow('debate', options, async (ctx, question: string) => {
  // Made here, so that each run has conversations of its own.
  const debater = (side: 'for' | 'against') =>
    chat(side, {
      model,
      system: `You argue ${side} what is asked: "${question}". Answer the other side in two sentences.`,
      maxOutputTokens: 1_000,
    })
  const [pro, contra] = [debater('for'), debater('against')]

  const said: string[] = []
  for (let round = 1; round <= (ctx.params['rounds'] as number); round += 1) {
    said.push(`for: ${await ctx.run(pro, said.at(-1) ?? 'You begin.')}`)
    said.push(`against: ${await ctx.run(contra, said.at(-1) ?? '')}`)
  }
  const verdict = await ctx.run(judge, `${question}\n\n${said.join('\n')}`)
  return { ...verdict, said }
})

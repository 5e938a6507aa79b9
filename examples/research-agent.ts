/**
 * Searches the guide of Nerve until there is enough, writes it down, and asks a person before it is done. One model looks things up
 * with a tool, one says whether that is enough, one writes.
 *
 *     nerve run examples/research-agent.ts --input "budget"
 *     nerve answer QUESTION approve
 *
 * The models are scripted. With ANTHROPIC_API_KEY or OPENAI_API_KEY in the environment they are real: see team/model.ts.
 */
import { readFile, readdir } from 'node:fs/promises'
import { workflow } from 'nerve'
import { llm, tool } from 'nerve/models'
import { modelFor } from './team/model.ts'

const GUIDE = new URL('../docs/guide/', import.meta.url)
const MOST_LINES = 5

const search = tool(
  async ({ words }: { words: string }) => {
    const found: string[] = []
    for (const page of (await readdir(GUIDE)).toSorted()) {
      const lines = (await readFile(new URL(page, GUIDE), 'utf8')).split('\n')
      const line = lines.find((text) => text.toLowerCase().includes(words.toLowerCase()))
      if (line !== undefined) found.push(`${page}: ${line.trim()}`)
    }
    return found.slice(0, MOST_LINES).join('\n') || `Nothing about ${words}.`
  },
  {
    name: 'search_guide',
    description: 'Gives the first line about these words on each page of the guide of Nerve. Use one or two words.',
    input: { type: 'object', properties: { words: { type: 'string' } }, required: ['words'] },
  },
)

const model = modelFor({
  rules: [
    {
      when: { user: 'Search for: (.+)' },
      steps: [{ call: { tool: 'search_guide', input: { words: '{{1}}' } } }, { say: 'Found on {{1}}: {{last}}' }],
    },
    { when: { user: 'Findings: 1\\n' }, say: '{"enough": false, "next": "durable"}' },
    { when: { user: 'Findings: \\d+\\n' }, say: '{"enough": true, "next": ""}' },
    { when: { user: 'Write about (.+)' }, say: 'What the guide says about {{1}}, in short.' },
  ],
})

const searcher = llm('searcher', {
  model,
  system: 'You look things up with your tool, and repeat what you found in your own words, shortly.',
  tools: [search],
  maxOutputTokens: 1_000,
})

const evaluator = llm<{ enough: boolean; next: string }, readonly string[]>('evaluator', {
  model,
  system: 'You judge whether findings are enough for a short text. If not, say what to search for next.',
  prompt: (findings) => `Findings: ${findings.length}\n${findings.join('\n')}`,
  jsonSchema: {
    type: 'object',
    properties: { enough: { type: 'boolean' }, next: { type: 'string' } },
    required: ['enough', 'next'],
    additionalProperties: false,
  },
  maxOutputTokens: 1_000,
})

const writer = llm('writer', { model, system: 'You write one short paragraph.', maxOutputTokens: 1_000 })

const options = { params: { maxIterations: 5 }, budget: { calls: 30, tokens: 100_000 } }

export default workflow('research-agent', options, async (ctx, question: string) => {
  const most = ctx.params['maxIterations'] as number
  const findings: string[] = []
  let query = question
  while (findings.length < most) {
    findings.push(await ctx.run(searcher, `Search for: ${query}`))
    const { enough, next } = await ctx.run(evaluator, [...findings])
    if (enough) break
    query = next
  }
  ctx.emit('phase', { name: 'synthesize', searches: findings.length })
  const answer = await ctx.run(writer, `Write about ${question}\n${findings.join('\n')}`)
  const approval = await ctx.gate(`The research is done. Approve?\n\n${answer.slice(0, 500)}`)
  return approval === 'approve'
    ? { approved: true, answer, searches: findings.length }
    : { approved: false, feedback: approval }
})

/** A debate: several agents answer a question, hear each other, answer again, and a judge decides. */
import type { Definition } from '../../engine/definition.ts'
import { tell, type Said, type TextAgent } from '../agents/told.ts'
import { NerveError } from '../../base/nerve-error.ts'
import { workflow } from '../workflow.ts'

export interface DebateOptions {
  /** At least two, by their names. */
  readonly debaters: Readonly<Record<string, TextAgent>>
  readonly judge: TextAgent
  /** How often each of them speaks (default 2). */
  readonly rounds?: number
  readonly name?: string
}

export interface DebateResult {
  /** What the judge said. */
  readonly verdict: string
  /** What each of them said last. */
  readonly positions: Readonly<Record<string, string>>
  readonly rounds: number
}

/**
 * All answer at the same time; in each further round they know what the others said. The judge hears the last round.
 *
 * ```ts
 * import { agent } from 'nerve/agents'
 * import { debate } from 'nerve/library'
 *
 * export default debate({
 *   debaters: { claude: agent('claude', { use: 'claude' }), codex: agent('codex', { use: 'codex' }) },
 *   judge: agent('judge', { use: 'claude' }),
 * })
 * ```
 */
export function debate({
  debaters,
  judge,
  rounds = 2,
  name = 'debate',
}: DebateOptions): Definition<string, DebateResult> {
  const entries = Object.entries(debaters)
  if (entries.length < 2) throw new NerveError('bad-option', `Debate '${name}' needs at least two debaters.`)
  if (!(Number.isInteger(rounds) && rounds > 0))
    throw new NerveError('bad-option', `Debate '${name}': rounds is ${rounds}; give a whole number from 1.`)
  return workflow(
    name,
    { description: 'Agents debate a question, and a judge decides' },
    async (ctx, question: string) => {
      let said: Readonly<Record<string, Said>> = {}
      for (let round = 1; round <= rounds; round += 1) {
        const before = said
        said = await ctx.scope(`round-${round}`, async () => {
          const all = await ctx.map(
            entries,
            async ([who, agent]): Promise<readonly [string, Said]> => [
              who,
              await tell(ctx, agent, speakText(question, who, before), { label: who, session: before[who]?.session }),
            ],
            { key: ([who]) => who },
          )
          return Object.fromEntries(all)
        })
      }
      const verdict = await tell(ctx, judge, judgeText(question, said), { label: 'judge' })
      const positions = Object.fromEntries(Object.entries(said).map(([who, { text }]) => [who, text]))
      return { verdict: verdict.text, positions, rounds }
    },
  )
}

function speakText(question: string, who: string, said: Readonly<Record<string, Said>>): string {
  const others = Object.entries(said).filter(([other]) => other !== who)
  if (others.length === 0) return `${question}\n\nAnswer with your position and your best reasons. Change no files.`
  return (
    `The question is: ${question}\n\nThe others said:\n\n${heard(others)}\n\n` +
    'Say where they are right, where they are wrong, and what your position is now. Change no files.'
  )
}

function judgeText(question: string, said: Readonly<Record<string, Said>>): string {
  return (
    `Several people have debated this: ${question}\n\nTheir last words:\n\n${heard(Object.entries(said))}\n\n` +
    'Decide. Say what is to be done and why, and which objections remain. Change no files.'
  )
}

function heard(said: readonly (readonly [string, Said])[]): string {
  return said.map(([who, { text }]) => `## ${who}\n${text}`).join('\n\n')
}

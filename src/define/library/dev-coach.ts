/** A developer and a coach: the coach looks at the work and sends it back until it is good. */
import type { Context, Definition } from '../../engine/definition.ts'
import { tell, type Said, type TextAgent } from '../agents/told.ts'
import { limitReached } from '../control/control.ts'
import { workflow } from '../workflow.ts'

export interface DevCoachOptions {
  readonly dev: TextAgent
  readonly coach: TextAgent
  /** How often the coach may send the work back (default 10). */
  readonly max?: number
  readonly name?: string
}

export interface DevCoachResult {
  /** What the developer said last. */
  readonly text: string
  readonly accepted: boolean
  /** How often the coach looked. */
  readonly rounds: number
}

const MOST_ROUNDS = 10
const ACCEPTED = 'ACCEPTED'

/**
 * The developer works, the coach advises, until the coach accepts. Both are coding agents, or anything that takes a text.
 *
 * ```ts
 * import { agent } from 'nerve/agents'
 * import { devCoach } from 'nerve/library'
 *
 * export default devCoach({
 *   dev: agent('dev', { use: 'claude' }),
 *   coach: agent('coach', { use: 'codex', permission: { allow: ['read'], otherwise: 'deny' } }),
 * })
 * ```
 */
export function devCoach(options: DevCoachOptions): Definition<string, DevCoachResult> {
  const { dev, name = 'dev-coach', max = MOST_ROUNDS } = options
  return workflow(name, { description: 'A developer works until a coach accepts' }, async (ctx, task: string) => {
    const first = await tell(ctx, dev, implementText(task), { label: 'dev' })
    const { work, accepted, rounds } = await coached(ctx, options, { task, work: first, max })
    return { text: work.text, accepted, rounds }
  })
}

interface Coaching {
  readonly task: string
  readonly work: Said
  readonly max: number
}

interface Coached {
  readonly work: Said
  readonly accepted: boolean
  readonly rounds: number
}

/** The coach's part, for whoever has work that needs one. */
export async function coached(
  ctx: Context,
  { dev, coach }: Pick<DevCoachOptions, 'dev' | 'coach'>,
  { task, work: first, max }: Coaching,
): Promise<Coached> {
  let work = first
  let session: unknown
  for (let round = 1; round <= max; round += 1) {
    const advice = await tell(ctx, coach, coachText(task, work.text), { label: 'coach', session })
    session = advice.session
    if (says(advice.text, ACCEPTED)) return { work, accepted: true, rounds: round }
    work = await tell(ctx, dev, reworkText('coach', advice.text), { label: 'dev', session: work.session })
  }
  limitReached(ctx, 'coach', max)
  return { work, accepted: false, rounds: max }
}

/** A verdict is a line that begins with the word: "NOT ACCEPTED" is none. */
export function says(text: string, verdict: string): boolean {
  return text.split('\n').some((line) => line.replace(/^[\s*#>`_-]+/u, '').startsWith(verdict))
}

export function implementText(task: string): string {
  return `${task}\n\nDo it in this folder. When you are done, say in a few sentences what you have changed.`
}

export function reworkText(who: string, advice: string): string {
  return `The ${who} has looked at your work and says:\n\n${advice}\n\nAddress this. Then say what you have changed.`
}

function coachText(task: string, said: string): string {
  return (
    `A developer was told:\n\n${task}\n\nThe developer says:\n\n${said}\n\n` +
    `Look at the work in this folder, and change nothing. If it is good, answer with one line: ${ACCEPTED}. ` +
    'Else say what is to be done, shortly and in order of importance.'
  )
}

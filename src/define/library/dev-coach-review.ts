/** A developer, a coach and a reviewer: the reviewer has the last word before a person. */
import type { Definition } from '../../engine/definition.ts'
import { tell, type TextAgent } from '../agents/told.ts'
import { limitReached } from '../control/control.ts'
import { workflow } from '../workflow.ts'
import { coached, implementText, reworkText, says } from './dev-coach.ts'

export interface DevCoachReviewOptions {
  readonly dev: TextAgent
  readonly coach: TextAgent
  readonly reviewer: TextAgent
  /** How often the reviewer looks (default 5). */
  readonly maxReviews?: number
  /** How often the coach looks before each review (default 10). */
  readonly maxCoachings?: number
  /** Whether a person is asked at the end (default true). */
  readonly asks?: boolean
  readonly name?: string
}

export interface DevCoachReviewResult {
  /** What the developer said last. */
  readonly text: string
  readonly approved: boolean
  /** What the person said; without one, what the reviewer said. */
  readonly merged: boolean
  /** How often the reviewer looked. */
  readonly reviews: number
}

const MOST_REVIEWS = 5
const MOST_COACHINGS = 10
const APPROVED = 'APPROVED'

/**
 * The coach sends the work back until it is good, the reviewer sends it back to both, and a person says whether it is merged.
 *
 * ```ts
 * import { agent } from 'nerve/agents'
 * import { devCoachReview } from 'nerve/library'
 *
 * const looks = { permission: { allow: ['read'], otherwise: 'deny' } } as const
 * export default devCoachReview({
 *   dev: agent('dev', { use: 'claude' }),
 *   coach: agent('coach', { use: 'copilot', ...looks }),
 *   reviewer: agent('reviewer', { use: 'codex', ...looks }),
 * })
 * ```
 */
export function devCoachReview(options: DevCoachReviewOptions): Definition<string, DevCoachReviewResult> {
  const { dev, reviewer, name = 'dev-coach-review', asks = true } = options
  const { maxReviews = MOST_REVIEWS, maxCoachings = MOST_COACHINGS } = options
  const description = 'A developer works until a coach and a reviewer are content'
  return workflow(name, { description }, async (ctx, task: string) => {
    let work = await tell(ctx, dev, implementText(task), { label: 'dev' })
    let session: unknown
    for (let review = 1; review <= maxReviews; review += 1) {
      work = (await coached(ctx, options, { task, work, max: maxCoachings })).work
      const verdict = await tell(ctx, reviewer, reviewText(task, work.text), { label: 'reviewer', session })
      session = verdict.session
      if (says(verdict.text, APPROVED)) {
        const answer = asks ? await ctx.gate(`The reviewer approved. Merge?\n${work.text}`) : 'approve'
        return { text: work.text, approved: true, merged: answer === 'approve', reviews: review }
      }
      work = await tell(ctx, dev, reworkText('reviewer', verdict.text), { label: 'dev', session: work.session })
    }
    limitReached(ctx, 'reviewer', maxReviews)
    return { text: work.text, approved: false, merged: false, reviews: maxReviews }
  })
}

function reviewText(task: string, said: string): string {
  return (
    `Review the work in this folder, and change nothing. It was done for this task:\n\n${task}\n\n` +
    `The developer says:\n\n${said}\n\nIf it can be merged as it is, answer with one line: ${APPROVED}. ` +
    'Else say what has to change before it can.'
  )
}

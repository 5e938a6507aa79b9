/**
 * The team of the examples: scripted nodes that stand in for coding agents. Each is a function of what it is told, so the
 * examples do the same every time and need no key.
 */
import { defineNode } from 'nerve'

/** Writes a first draft, or the next one when it is told what to change. */
export const dev = defineNode('dev', (order: string) => {
  const task = order.startsWith('Implement: ') ? order.slice('Implement: '.length) : taskOf(order)
  return `draft ${draftOf(order) + 1} of ${task}`
})

/** Accepts every third draft, and has advice for the others. */
export const coach = defineNode('coach', (draft: string) =>
  draftOf(draft) % 3 === 0 ? 'ACCEPTED' : `make it shorter (${draft})`,
)

/** Approves from the sixth draft on. */
export const reviewer = defineNode('reviewer', (draft: string) =>
  draftOf(draft) >= 6 ? 'APPROVED' : `tests are missing (${draft})`,
)

export const isAccepted = (advice: string): boolean => advice.startsWith('ACCEPTED')
export const isApproved = (review: string): boolean => review.startsWith('APPROVED')
export const rework = (advice: string, draft: string): string => `Address: ${advice}\n${draft}`

function draftOf(text: string): number {
  return Number(/draft (\d+) of/u.exec(text)?.[1] ?? 0)
}

function taskOf(text: string): string {
  return /draft \d+ of ([^)\n]+)/u.exec(text)?.[1] ?? text
}

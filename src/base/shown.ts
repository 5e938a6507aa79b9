/** How values are spoken of in messages, and how long texts are for people. */
import { describe } from './nerve-error.ts'

/** A value in a message: short, whatever it is. */
export function shown(value: unknown): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object'
  const made = typeof value === 'string' ? JSON.stringify(value) : describe(value)
  return made.length > 60 ? `${made.slice(0, 57)}…` : made
}

/** As people count them, not in halves of surrogate pairs. */
export function characters(text: string): number {
  let count = 0
  for (const _one of text) count += 1
  return count
}

/** What is known when Claude has ended its turn. */
import type { Usage } from '../../journal/events.ts'
import type { Section } from '../parsers/parser.ts'

/** How it was known. `hook`: Claude Code said so. `screen`: its screen waits for input. `exit`: it has ended. */
export type ClaudeRule = 'hook' | 'screen' | 'exit'

export interface ClaudeResult {
  /** What Claude said last. */
  readonly text: string
  /** What the screen shows of the turn: texts, thoughts, and tools with their results. */
  readonly sections: readonly Section[]
  /** The conversation. */
  readonly session: string
  readonly rule: ClaudeRule
  readonly durationMs: number
  /** Of this turn, as far as it is known. */
  readonly usage?: Usage
  /** With the rule `exit`. */
  readonly exitCode?: number
}

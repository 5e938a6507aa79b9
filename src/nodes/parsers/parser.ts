/** What a parser makes of the screen of an agent's terminal program. Pure: text in, data out; no text makes it throw. */

/**
 * What the program is doing: `ready` for input, `busy`, `asking` the person something, or asking for `permission` to do
 * something. `unknown` when the marks of none of these are where they should be: then nothing is guessed.
 */
export type ScreenState = 'ready' | 'busy' | 'asking' | 'permission' | 'unknown'

export const SECTION_TYPES = ['text', 'thinking', 'tool'] as const
export type SectionType = (typeof SECTION_TYPES)[number]

/** What the program said. */
export interface TextSection {
  readonly type: 'text'
  readonly text: string
  /** How many prompts of the person are above it on the screen. */
  readonly turn: number
}

export interface ThinkingSection {
  readonly type: 'thinking'
  readonly text: string
  readonly turn: number
}

export interface ToolSection {
  readonly type: 'tool'
  readonly tool: string
  /** As the screen shows them: shortened, and not as JSON. */
  readonly arguments: string
  /** Not there while the tool runs, or waits for permission. */
  readonly result?: string
  readonly turn: number
}

export type Section = TextSection | ThinkingSection | ToolSection

export interface ScreenChoice {
  readonly label: string
  /** The key that chooses it, when the screen shows one. */
  readonly key?: string
  readonly detail?: string
  /** Enter chooses this one. */
  readonly selected: boolean
}

export interface ScreenQuestion {
  readonly prompt: string
  readonly choices: readonly ScreenChoice[]
  /** What the question is about, such as the command or the change. */
  readonly detail?: string
}

/** As far as the screen tells: of the turn while it is busy, of the session on a page about usage. */
export interface ScreenTokens {
  readonly input?: number
  readonly output?: number
}

export interface ParsedScreen {
  readonly sections: readonly Section[]
  readonly state: ScreenState
  readonly tokens?: ScreenTokens
  /** With `asking` and `permission`. */
  readonly question?: ScreenQuestion
  /** The text that was parsed. */
  readonly raw: string
}

export interface Parser {
  readonly name: string
  /** Takes the text of a rendered screen, with escapes in it or without. Linear in its length. */
  parse(screen: string): ParsedScreen
}

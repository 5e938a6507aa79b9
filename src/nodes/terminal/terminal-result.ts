/** What is known when a command in a terminal is over, or when it waits. */

/**
 * How it was known. `marks`: the shell said so. `paste`: a program that reads lines switched its paste mode on.
 * `kernel`: the program in the foreground waits for input. `stable`: the last lines did not change for a while, or
 * match the pattern. `timeout`: it was not known in time. `exit`: the program in the terminal has ended.
 */
export type ReadyRule = 'marks' | 'paste' | 'kernel' | 'stable' | 'timeout' | 'exit'

export interface TerminalResult {
  /** What the command printed, as plain text, with the line break at its end if it printed one. */
  readonly output: string
  /** Missing when nothing ran, and when only the shell would know: with other rules than `marks` and `exit`. */
  readonly exitCode?: number
  readonly rule: ReadyRule
  readonly durationMs: number
  /** The shell wants more of the same command: a quote or a bracket is open. */
  readonly continuation?: true
  /** How many characters of the output were let go, the first ones. All of it is in the log, if there is one. */
  readonly dropped?: number
}

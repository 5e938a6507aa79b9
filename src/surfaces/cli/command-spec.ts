/** What is known of a command before it is loaded. */
export interface OptionSpec {
  readonly type: 'string' | 'boolean'
  /** What stands for the value in the help. */
  readonly value?: string
  readonly multiple?: boolean
  readonly help: string
  /** The values that are known beforehand: shells offer them. */
  readonly values?: readonly string[]
  /** For Nerve itself, not for people. */
  readonly hidden?: boolean
}

export interface CommandSpec {
  readonly name: string
  /** What follows `nerve NAME`. */
  readonly usage: string
  readonly summary: string
  readonly about?: string
  /** The least and the most positional arguments. */
  readonly takes: readonly [least: number, most: number]
  readonly options?: Readonly<Record<string, OptionSpec>>
  readonly examples: readonly (readonly [command: string, meaning: string])[]
  /** It drives a run: it goes on when nobody reads it any more, and ends with the code of the run. */
  readonly drives?: boolean
  readonly load: () => Promise<{ readonly run: (invocation: never) => Promise<number> }>
  /** The commands of a group, each with the whole of its name: `node create`. */
  readonly verbs?: readonly CommandSpec[]
}

export interface CommandTable {
  readonly commands: readonly CommandSpec[]
  /** Options of every command. */
  readonly globals: Readonly<Record<string, OptionSpec>>
}

export function verbOf(group: CommandSpec, verb: string): CommandSpec | undefined {
  return group.verbs?.find(({ name }) => name === `${group.name} ${verb}`)
}

/** How the usage calls the word at this place: `RUN`; or the words that may stand there: `bash|zsh|fish`. */
export function placeWords({ usage }: CommandSpec, at: number): readonly string[] {
  const [before = ''] = usage.split(/ ?\[?--| \|/)
  const word = before.split(' ').filter((one) => one !== '' && one !== '…')[at]
  return word === undefined ? [] : word.replaceAll(/[[\]]/g, '').split('|')
}

/** What is known of a command before it is loaded. */
export interface OptionSpec {
  readonly type: 'string' | 'boolean'
  /** What stands for the value in the help. */
  readonly value?: string
  readonly multiple?: boolean
  readonly help: string
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
  readonly load: () => Promise<{ readonly run: (invocation: never) => Promise<number> }>
  /** The commands of a group, each with the whole of its name: `node create`. */
  readonly verbs?: readonly CommandSpec[]
}

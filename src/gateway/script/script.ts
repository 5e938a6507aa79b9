/** What a script of a scripted model says. Data, so that it can be written as YAML; docs/guide/gateway.md explains it. */
import type { Duration } from '../../base/duration.ts'
import type { ModelRequest, ModelUsage, StopReason } from '../exchange.ts'

export interface Script {
  readonly rules: readonly ScriptRule[]
  /** For requests that no rule matches; without it they fail. */
  readonly otherwise?: ScriptStep
  /** Said when a step would call a tool and the request offers none: titles and summaries that agents ask for on the side. */
  readonly side?: string
  /** Names of models that the script has, for clients that list them. */
  readonly models?: readonly string[]
  /** For steps that do not say their own. */
  readonly stream?: Pace
  readonly usage?: Partial<ModelUsage>
}

/** The first rule that matches the newest text of a user is taken; of its steps, the one whose turn it is. */
export interface ScriptRule extends ScriptStep {
  readonly when?: ScriptMatch
  /** One for each reply, in order. A rule without `steps` is one step itself. */
  readonly steps?: readonly ScriptStep[]
}

/** Each is a regular expression, upper and lower case alike; all that are given must match. */
export interface ScriptMatch {
  /** The text of the user. Its groups are `{{1}}`, `{{2}}` … in what is said and called. */
  readonly user?: string
  readonly system?: string
  readonly model?: string
  /** The name of one of the tools offered. */
  readonly tool?: string
}

/** One reply. */
export interface ScriptStep {
  readonly think?: string
  /** `{{last}}` is the text of the last tool result, `{{user}}` that of the user. */
  readonly say?: string
  readonly call?: ScriptCall | readonly ScriptCall[]
  readonly fail?: number | ScriptFailure
  /** Before anything is sent. */
  readonly wait?: Duration
  readonly stream?: Pace
  readonly usage?: Partial<ModelUsage>
  /** Why the reply ends (default: `tool` after calls, else `end`). */
  readonly stop?: StopReason
}

/** How text is streamed: characters in each piece (24), and the time between two (none). */
export interface Pace {
  readonly chunk?: number
  readonly delay?: Duration
}

/** A tool by what it is for, whatever the agent calls it; or by its name. */
export type ScriptCall =
  | { readonly sh: string }
  | { readonly read: string }
  | { readonly write: { readonly path: string; readonly text: string } }
  | { readonly edit: { readonly path: string; readonly old: string; readonly new: string } }
  | { readonly ask: { readonly question: string; readonly options: readonly string[] } }
  | { readonly tool: string; readonly input?: unknown }

export interface ScriptFailure {
  readonly status: number
  readonly message?: string
  /**
   * How often the same request fails before the step is answered; without it, always. Tries are not in a transcript: the back end
   * counts them, for each token, in memory.
   */
  readonly times?: number
  /** Told to the client, as time from now. */
  readonly retryAfter?: Duration
  /** In a stream: fails after so many pieces. */
  readonly after?: number
}

/** A script as a function: the same transcript must always give the same step. */
export type ScriptFunction = (request: ModelRequest, view: TranscriptView) => ScriptStep | undefined

/** The parts of a transcript that scripts look at. */
export interface TranscriptView {
  /** The newest text of a user. */
  readonly user: string
  /** The text of the newest tool results. */
  readonly last: string
  /** How many replies there were since that text. */
  readonly step: number
}

/**
 * The contract between Nerve and a coding agent: what an adapter makes of a vendor's SDK or program. It uses what the agent
 * does by itself (sessions, compaction, tools, permissions) and re-implements none of it.
 *
 * Rules of an adapter:
 *  1. `ref` is plain data and known before the first prompt is sent.
 *  2. `prompt` gives parts until a `turn-end`, which always comes, exactly once, and last.
 *  3. Usage is what this turn has spent since the last part that said so, never a total.
 *  4. Messages of the vendor that it does not know are no error.
 *  5. Every process that it starts gets `env`, is started as `wrap` says, and is told to `started`.
 */
import type { Enter } from '../sandbox.ts'

export const CONTRACT = 1

/** Which session it is, for whoever goes on with it. Goes into the journal. */
export interface SessionRef {
  readonly agent: string
  readonly id: string
  readonly cwd: string
}

const ABILITIES = [
  /** The host may choose the id of a session. */
  'chosenId',
  'resume',
  'fork',
  'compact',
  /** It asks before it uses a tool. */
  'permissions',
  /** A denial can say why, and the agent is told. */
  'denyReason',
  /** A permission can be given for another input. */
  'editedInput',
  /** Its process can end while a person thinks about what it asks. */
  'defer',
  /** It asks the person what it wants to know. */
  'questions',
  /** It gives data that fits a JSON Schema. */
  'structured',
  /** It says what a turn has cost. */
  'cost',
  /** Its model can be reached through another address. */
  'gateway',
  /** Everything that it starts goes through `wrap`. */
  'sandbox',
] as const

/** What an agent can do, as data: surfaces show it, and the node acts on it. */
export type AgentCapabilities = Readonly<Record<(typeof ABILITIES)[number], boolean>>

/** What an agent can do, by the names of it; it can do nothing else. */
export function able(...names: readonly (keyof AgentCapabilities)[]): AgentCapabilities {
  return Object.fromEntries(ABILITIES.map((name) => [name, names.includes(name)])) as AgentCapabilities
}

/** An agent that can do everything else. */
export function allBut(...names: readonly (keyof AgentCapabilities)[]): AgentCapabilities {
  return able(...ABILITIES.filter((name) => !names.includes(name)))
}

export interface AgentAdapter {
  readonly contract: typeof CONTRACT
  readonly name: string
  readonly capabilities: AgentCapabilities
  /** Names of variables of this process that it needs, such as that of its key. */
  readonly variables: readonly string[]
  /** What it must be able to write beside the folder that it works in: where its sessions, settings and logins are. */
  readonly folders?: (env: Readonly<Record<string, string>>) => readonly string[]
  /** Looks whether it is there, without a model and without a network. */
  probe(): Promise<AgentProbe>
  open(options: AgentOpen): Promise<AgentSession>
}

export interface AgentProbe {
  readonly found: boolean
  readonly version?: string
  /** The file or package that it is. */
  readonly where?: string
  readonly licence?: string
  /** Why it was not found, or would not work. */
  readonly problem?: string
  /** The command that installs it. */
  readonly install: string
}

export interface AgentOpen {
  readonly cwd: string
  /** The whole environment of what is started. */
  readonly env: Readonly<Record<string, string>>
  /** How a program is started, where it has to be in a sandbox. */
  readonly wrap?: Enter
  /** How long its program may take to say its first word, where that is not before the first prompt. */
  readonly startTimeoutMs?: number
  /** Aborts when nobody waits any more for the session to be open. */
  readonly givenUp?: AbortSignal
  /** The id for a new session, where the agent lets us choose. */
  readonly id?: string
  readonly resume?: SessionRef
  /** A new session that knows what this one knows. */
  readonly forkFrom?: SessionRef
  readonly model?: string
  /** Added to the agent's own instructions. */
  readonly system?: string
  readonly tools?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] }
  readonly mcpServers?: Readonly<Record<string, McpServerOptions>>
  /** Where to reach the model instead of the vendor's own address. */
  readonly gateway?: { readonly url: string; readonly token: string }
  /** It never fails: what goes wrong where it is decided is a denial. */
  readonly permission: (request: PermissionRequest) => Promise<PermissionDecision>
  /** What the agent wants to know of the person. It never fails: what goes wrong where it is asked is a refusal. */
  readonly question: (request: QuestionRequest) => Promise<QuestionReply>
  /** A process of this session has started. */
  readonly started: (pid: number) => void
  /** Every message of the vendor, untouched. */
  readonly onNative?: (event: unknown) => void
  /** Options of the vendor, handed on as they are. */
  readonly native?: Readonly<Record<string, unknown>>
}

export type McpServerOptions =
  | {
      readonly command: string
      readonly args?: readonly string[]
      readonly env?: Readonly<Record<string, string>>
    }
  | { readonly url: string; readonly headers?: Readonly<Record<string, string>> }

export type ToolKind = 'shell' | 'edit' | 'read' | 'fetch' | 'mcp' | 'question' | 'other'

/** What an agent asks of a person. */
interface Request {
  /** Of the tool call; the same when the agent asks for it again. */
  readonly id: string
  /** The tool, in the agent's words. */
  readonly tool: string
  /** What the agent can do, but not with this one. */
  readonly lacks?: Lacks
}

export type Lacks = readonly ('editedInput' | 'defer')[]

export interface PermissionRequest extends Request {
  readonly kind: ToolKind
  /** What it is about, in a line. */
  readonly title: string
  readonly input: unknown
}

export type PermissionDecision =
  | { readonly allow: true; readonly input?: unknown }
  | { readonly allow: false; readonly reason?: string }
  /** Not yet: the turn ends, and `proceed` goes on with it. Only for agents that can. */
  | { readonly defer: true }

export interface QuestionRequest extends Request {
  readonly questions: readonly AgentQuestion[]
}

export interface AgentQuestion {
  readonly text: string
  /** A word about it. */
  readonly header?: string
  readonly options?: readonly { readonly label: string; readonly description?: string }[]
  /** More than one option may be chosen. */
  readonly many?: boolean
  /** Other words are taken too. Without options they always are. */
  readonly free?: boolean
  /** The answer is a secret. */
  readonly secret?: boolean
}

export type QuestionReply =
  /** For each question what was chosen, or the person's own words. */
  | { readonly answers: readonly (readonly string[])[] }
  | { readonly refused: string }
  /** Not yet: as for a permission. */
  | { readonly defer: true }

export interface AgentUsage {
  readonly input?: number
  readonly output?: number
  readonly usd?: number
  /** How much of the context window is full, from 0 to 1. */
  readonly window?: number
}

export type TurnEnd = 'done' | 'interrupted' | 'deferred' | 'limit' | 'rate-limited' | 'context-full' | 'error'

export type AgentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly text: string }
  | { readonly type: 'tool-start'; readonly id: string; readonly tool: string; readonly input: unknown }
  | { readonly type: 'tool-end'; readonly id: string; readonly ok: boolean; readonly output: string }
  | { readonly type: 'compacted' }
  | { readonly type: 'retry'; readonly attempt: number; readonly message: string }
  | { readonly type: 'usage'; readonly usage: AgentUsage }
  | AgentTurnEnd

export interface AgentTurnEnd {
  readonly type: 'turn-end'
  readonly reason: TurnEnd
  /** The last that the agent said. */
  readonly text: string
  readonly data?: unknown
  readonly error?: string
  /** For `rate-limited`: when it may be tried again, in milliseconds since 1970. */
  readonly retryAt?: number
}

export interface AgentSession {
  readonly ref: SessionRef
  /** True when its process is gone and will not come back by itself: it has to be opened again. */
  readonly ended?: boolean
  prompt(text: string, options?: { readonly schema?: unknown }): AsyncIterable<AgentPart>
  /** Goes on with a deferred turn: what was asked is asked again. */
  proceed?(): AsyncIterable<AgentPart>
  /** Stops the turn; its `turn-end` follows. */
  interrupt(): Promise<void>
  /** Gives what that has spent, where it is known. */
  compact?(): Promise<AgentUsage | void>
  fork?(): Promise<SessionRef>
  /** Ends its process. The session can be resumed. */
  close(): Promise<void>
  /** What the vendor calls a session. */
  readonly native: unknown
}

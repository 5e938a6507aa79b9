/** The part of Copilot's SDK that is used, as types: its package may not be there. */
import type { Methods, Numbers, Texts } from './fields.ts'

export type Config = Readonly<Record<string, unknown>>
type Ref = { readonly sessionId: string }

export interface Sdk {
  readonly CopilotClient: new (options: Config) => Client
  readonly RuntimeConnection: { forStdio(how: object): unknown }
}

export interface Client
  extends Methods<'start' | 'stop' | 'forceStop' | 'ping'>, Methods<'createSession', [Config], Session> {
  resumeSession(id: string, config: Config): Promise<Session>
  readonly rpc: { readonly sessions: Methods<'fork' | 'save', [Ref], Ref> }
}

export interface Session extends Methods<'abort' | 'disconnect'>, Methods<'send', [{ prompt: string }]> {
  on(listener: (event: { readonly type: string; readonly data: Data }) => void): unknown
  readonly rpc: { readonly history: Methods<'compact'>; readonly permissions: Permissions }
}

interface Permissions extends Methods<'handlePendingPermissionRequest', [{ requestId: string; result: unknown }]> {
  pendingRequests(): Promise<{ readonly items: readonly { readonly requestId: string; readonly request: Asked }[] }>
}

/** What is said in events; each has some of it. */
export type Data = Texts<'deltaContent' | 'content' | 'toolCallId' | 'toolName' | 'message'> &
  Numbers<'inputTokens' | 'outputTokens' | 'currentTokens' | 'tokenLimit'> &
  Partial<Record<'success' | 'aborted', boolean>> &
  Partial<Record<'result' | 'error', Texts<'content' | 'message'>>> & { readonly arguments?: unknown } & Partial<
    Record<'compactionTokensUsed', Numbers<'inputTokens' | 'outputTokens'>>
  >

export interface Asked extends Texts<
  'toolCallId' | 'sessionId' | 'intention' | 'fullCommandText' | 'fileName' | 'toolName'
> {
  readonly kind: string
  readonly toolArgs?: unknown
}

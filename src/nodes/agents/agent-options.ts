/** What an agent node is made of: options, checked once, with their defaults. */
import { resolve } from 'node:path'
import { checkKnown } from '../../base/check-known.ts'
import { milliseconds, type Duration } from '../../base/duration.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { Policy } from '../../engine/definition.ts'
import type { Usage } from '../../journal/events.ts'
import { checkEnvironment, type Named } from '../bash-environment.ts'
import { checkSandbox, type Sandbox } from '../sandbox.ts'
import { valueSchema, type ValueSchema } from '../tools/value-schema.ts'
import type { Schema } from '../../base/schema.ts'
import type { JsonSchema } from '../../base/json-schema.ts'
import { CONTRACT, type AgentAdapter, type McpServerOptions, type SessionRef } from './adapter.ts'
import { planPermission, type PermissionPlan, type PermissionPolicy } from './permission.ts'

/** Where agents reach their model; a gateway of `nerve/gateway` is one. */
export interface AgentGateway {
  readonly url: string
  token(options: { readonly reserve: (wanted: Usage) => void; readonly usage: (spent: Usage) => void }): {
    readonly token: string
    revoke(): void
  }
}

export interface AgentNodeOptions<Value = never> extends Named {
  /** The agent: a name such as `claude`, or an adapter. */
  readonly use: string | AgentAdapter
  readonly description?: string
  /** The folder that it works in (default: the one of this process). */
  readonly cwd?: string
  readonly model?: string
  /** Added to the agent's own instructions. */
  readonly system?: string
  readonly tools?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] }
  readonly mcpServers?: Readonly<Record<string, McpServerOptions>>
  /** What it may do without asking (default: nothing, `ask`). */
  readonly permission?: PermissionPolicy
  /** What its programs can reach (default: everything that you can). The network is always on: its model is there. */
  readonly sandbox?: Sandbox
  /** How long it may take to start (default 2m). */
  readonly startTimeout?: Duration
  /** `hold`: its process stays while a person thinks. `park`: it ends, where the agent can (default). */
  readonly patience?: 'hold' | 'park'
  /** Goes on with a session that is there already. */
  readonly session?: SessionRef
  /** What the result must be: then it has `data`. */
  readonly schema?: Schema<Value>
  readonly jsonSchema?: JsonSchema
  /** How often it is asked again for data that fits (default 2). */
  readonly reasks?: number
  /** How full the context window may get, from 0 to 1, before it is compacted (default 0.6); `false` for never. */
  readonly compactAt?: number | false
  /** Counts what it spends, and keeps it within the budget, for agents that take an address. */
  readonly gateway?: AgentGateway
  /** Options of the vendor, handed on as they are. */
  readonly native?: Readonly<Record<string, unknown>>
  readonly policy?: Policy
}

export interface AgentPlan extends Named {
  readonly use: string | AgentAdapter
  readonly description: string | undefined
  readonly cwd: string
  readonly model: string | undefined
  readonly system: string | undefined
  readonly tools: AgentNodeOptions['tools']
  readonly mcpServers: AgentNodeOptions['mcpServers']
  readonly permission: PermissionPlan
  readonly sandbox: Sandbox
  readonly startTimeoutMs: number
  readonly parks: boolean
  readonly session: SessionRef | undefined
  readonly value: ValueSchema | undefined
  readonly reasks: number
  readonly compactAt: number
  readonly gateway: AgentGateway | undefined
  readonly native: Readonly<Record<string, unknown>> | undefined
  readonly policy: Policy
}

const KNOWN = [
  'use',
  'description',
  'cwd',
  'env',
  'inherit',
  'model',
  'system',
  'tools',
  'mcpServers',
  'permission',
  'sandbox',
  'startTimeout',
  'patience',
  'session',
  'schema',
  'jsonSchema',
  'reasks',
  'compactAt',
  'gateway',
  'native',
  'policy',
] as const satisfies readonly (keyof AgentNodeOptions)[]

export function planAgent<Value>(id: string, options: AgentNodeOptions<Value>): AgentPlan {
  const what = `agent '${id}'`
  checkKnown(what, options, KNOWN)
  checkEnvironment(what, options)
  const { use, schema, jsonSchema, patience = 'park', compactAt = 0.6, reasks = 2 } = options
  const { sandbox = 'none', startTimeout = '2m' } = options
  checkUse(what, use)
  checkSandbox(what, sandbox)
  if (sandbox !== 'none' && sandbox.network === false)
    throw new NerveError(
      'bad-option',
      `${what}: sandbox.network is false, but the agent reaches its model over the network.`,
    )
  if (patience !== 'hold' && patience !== 'park')
    throw new NerveError('bad-option', `${what}: patience is ${JSON.stringify(patience)}; give hold or park.`)
  if (compactAt !== false && !(compactAt > 0 && compactAt <= 1))
    throw new NerveError('bad-option', `${what}: compactAt is ${String(compactAt)}; give a number up to 1, or false.`)
  return {
    use,
    description: options.description,
    cwd: resolve(options.cwd ?? '.'),
    env: options.env,
    inherit: options.inherit,
    model: options.model,
    system: options.system,
    tools: options.tools,
    mcpServers: options.mcpServers,
    permission: planPermission(what, options.permission),
    sandbox,
    startTimeoutMs: milliseconds(startTimeout, `${what}: startTimeout`),
    parks: patience === 'park',
    session: options.session,
    value: valueOf(what, schema, jsonSchema),
    reasks,
    compactAt: compactAt === false ? Number.POSITIVE_INFINITY : compactAt,
    gateway: options.gateway,
    native: options.native,
    // Its session knows what it did: after a crash it goes on there.
    policy: { effect: 'resumable', recordInput: true, ...options.policy },
  }
}

function valueOf(what: string, schema: Schema | undefined, json: JsonSchema | undefined): ValueSchema | undefined {
  if (schema !== undefined) return valueSchema(`${what}: schema`, schema, json)
  return json === undefined ? undefined : valueSchema(`${what}: jsonSchema`, json)
}

function checkUse(what: string, use: unknown): void {
  if (typeof use === 'string' && use !== '') return
  const given = typeof use === 'object' && use !== null ? (use as Partial<AgentAdapter>) : undefined
  if (given === undefined || typeof given.open !== 'function')
    throw new NerveError('bad-option', `${what}: use must be the name of an agent, such as claude, or an adapter.`)
  if (given.contract !== CONTRACT)
    throw new NerveError(
      'bad-option',
      `${what}: the adapter ${given.name ?? ''} is made for contract ${String(given.contract)}, and this is ${CONTRACT}. Take one that fits.`,
    )
}

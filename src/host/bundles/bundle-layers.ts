/** Bundles laid over each other: defaults, what they extend, and their own. Pure. */
import { isRecord } from '../../base/json-schema.ts'
import type { McpServerOptions } from '../../nodes/agents/adapter.ts'
import type { PermissionPolicy } from '../../nodes/agents/permission.ts'
import type { Sandbox } from '../../nodes/sandbox.ts'

/** What a file, or a program, says of an agent. Everything may be missing: other layers can have it. */
export interface AgentBundle {
  readonly description?: string
  readonly extends?: string
  readonly use?: string
  readonly model?: string
  readonly prompt?: string
  readonly tools?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] }
  readonly permission?: PermissionPolicy
  readonly sandbox?: Sandbox
  readonly startTimeout?: number | string
  readonly patience?: 'hold' | 'park'
  readonly limits?: {
    readonly timeout?: number | string
    readonly attempts?: number
    readonly usd?: number
    readonly tokens?: number
    readonly window?: number
  }
  readonly env?: Readonly<Record<string, string>>
  readonly inherit?: readonly string[]
  readonly mcpServers?: Readonly<Record<string, McpServerOptions>>
  readonly output?: Readonly<Record<string, unknown>>
  readonly native?: Readonly<Record<string, unknown>>
}

/** These say what something is as a whole: half of one and half of another would be neither. */
const WHOLE: readonly string[] = ['output', 'mcpServers.*']

/** The upper one wins; lists have the entries of both, and objects the fields of both. */
export function layered(lower: AgentBundle, upper: AgentBundle): AgentBundle {
  return merged(rules(lower), rules(upper), []) as AgentBundle
}

/** `permission: ask` is short for what no rule matches, and must not take the rules of other layers away. */
function rules(bundle: AgentBundle): AgentBundle {
  const { permission } = bundle
  return typeof permission === 'string' ? { ...bundle, permission: { otherwise: permission } } : bundle
}

function merged(lower: unknown, upper: unknown, path: readonly string[]): unknown {
  if (upper === undefined) return lower
  if (isList(lower) && isList(upper)) return [...new Set([...lower, ...upper])]
  if (!isRecord(lower) || !isRecord(upper) || isWhole(path)) return upper
  const made: Record<string, unknown> = { ...lower }
  for (const [key, value] of Object.entries(upper)) made[key] = merged(lower[key], value, [...path, key])
  return made
}

function isWhole(path: readonly string[]): boolean {
  const [first = '', second] = path
  return WHOLE.includes(second === undefined ? first : `${first}.*`)
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

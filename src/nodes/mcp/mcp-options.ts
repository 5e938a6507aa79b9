/** What a connection to an MCP server is made of: options, checked once. */
import { checkKnown } from '../../base/check-known.ts'
import { milliseconds, type Duration } from '../../base/duration.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { Policy } from '../../engine/definition.ts'
import { checkEnvironment, type Named } from '../bash-environment.ts'
import type { McpResult } from './mcp.ts'

/** Give `command` for a server that is a program, `url` for one that is reached over HTTP. */
export interface McpOptions extends Named {
  readonly description?: string
  readonly command?: string
  readonly args?: readonly string[]
  readonly cwd?: string
  readonly url?: string
  /** Sent with every request. Their values are never recorded. */
  readonly headers?: Readonly<Record<string, string>>
  /** How long a call may take (default 10m); a server that reports progress starts it anew. */
  readonly timeout?: Duration
  /** How long the server may take to answer for the first time (default 30s). */
  readonly startTimeout?: Duration
  readonly policy?: Policy<McpResult>
}

export interface McpPlan {
  readonly description: string | undefined
  readonly server: ProgramPlan | HttpPlan
  readonly timeoutMs: number
  readonly startTimeoutMs: number
  readonly policy: Policy<McpResult>
}

export interface ProgramPlan extends Named {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string | undefined
}

export interface HttpPlan {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

const COMMON = ['description', 'timeout', 'startTimeout', 'policy'] as const
const OF_PROGRAMS = ['command', 'args', 'cwd', 'env', 'inherit'] as const
const OF_HTTP = ['url', 'headers'] as const

export function planMcp(id: string, options: McpOptions): McpPlan {
  const what = `mcp '${id}'`
  checkKnown(what, options, [...COMMON, ...OF_PROGRAMS, ...OF_HTTP])
  const { command, url } = options
  if ((command === undefined) === (url === undefined))
    throw new NerveError('bad-option', `${what} needs either a command to start or the url of a server.`)
  const foreign = (url === undefined ? OF_HTTP : OF_PROGRAMS).find((name) => options[name] !== undefined)
  if (foreign !== undefined)
    throw new NerveError(
      'bad-option',
      `${what}: ${foreign} means nothing with ${url === undefined ? 'command' : 'url'}.`,
    )
  return {
    description: options.description,
    server: url === undefined ? programPlan(what, command, options) : httpPlan(what, url, options.headers ?? {}),
    timeoutMs: milliseconds(options.timeout ?? '10m', 'timeout'),
    startTimeoutMs: milliseconds(options.startTimeout ?? '30s', 'startTimeout'),
    // Nobody knows what a tool does: after a crash, a person decides whether a call is made again.
    policy: { effect: 'once', recordInput: true, ...options.policy },
  }
}

function programPlan(what: string, command: unknown, { args = [], cwd, env, inherit }: McpOptions): ProgramPlan {
  if (typeof command !== 'string' || command === '')
    throw new NerveError('bad-option', `${what}: command must be the name of a program.`)
  if (!Array.isArray(args) || !args.every((one) => typeof one === 'string'))
    throw new NerveError('bad-option', `${what}: args must be a list of texts.`)
  checkEnvironment(what, { env, inherit })
  return { command, args, cwd, env, inherit }
}

function httpPlan(what: string, url: string, headers: Readonly<Record<string, string>>): HttpPlan {
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new NerveError('bad-option', `${what}: ${JSON.stringify(url)} is no address. Give one like https://host/mcp.`)
  // A value may be a secret: only its name is said.
  for (const [name, value] of Object.entries(headers))
    if (typeof value !== 'string') throw new NerveError('bad-option', `${what}: headers.${name} must be text.`)
  return { url, headers }
}

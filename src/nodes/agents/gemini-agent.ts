/** Gemini CLI, over the Agent Client Protocol. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { acpAgent } from './acp-agent.ts'
import type { AgentAdapter, AgentOpen } from './adapter.ts'
import { inHome } from './agent-environment.ts'

export interface GeminiOptions {
  /** The program (default: `gemini` on the PATH). */
  readonly command?: string
  /** Before its own arguments, for a program that is started by another. */
  readonly args?: readonly string[]
}

const MINUTE_MS = 60_000

export function geminiAgent({ command = 'gemini', args = [] }: GeminiOptions = {}): AgentAdapter {
  const adapter = acpAgent({
    name: 'gemini',
    command,
    args: [...args, '--acp'],
    variables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GEMINI_BASE_URL', 'GOOGLE_CLOUD_PROJECT'],
    gatewayEnv: ({ url, token }) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: token }),
    modelArgs: (model) => ['-m', model],
    capabilities: { resume: true },
    folders: (env) => inHome(env, '.gemini'),
    install: 'npm install -g @google/gemini-cli',
    licence: 'Apache-2.0',
  })
  return {
    ...adapter,
    async open(options) {
      if (options.resume !== undefined) await untilOld(options.resume.id, options)
      return adapter.open(options)
    },
  }
}

/**
 * Its files of sessions are named by the minute and the id. One that is resumed in the minute in which it was made would begin its
 * file anew, and everything in it would be forgotten: it is resumed in the next.
 */
async function untilOld(id: string, { env, givenUp }: AgentOpen): Promise<void> {
  const now = new Date()
  const minute = now.toISOString().slice(0, 16).replaceAll(':', '-')
  const [projects = ''] = inHome(env, '.gemini/tmp')
  const file = join('chats', `session-${minute}-${id.slice(0, 8)}.jsonl`)
  const young = existsSync(projects) && readdirSync(projects).some((one) => existsSync(join(projects, one, file)))
  const left = MINUTE_MS - (now.getTime() % MINUTE_MS) + 100
  if (young) await delay(left, undefined, givenUp === undefined ? {} : { signal: givenUp })
}

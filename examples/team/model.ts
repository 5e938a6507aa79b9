/**
 * The one place that says which model the examples with models ask.
 *
 * Without a key it is scripted: what it says is written beside the example, costs nothing and is the same each time. With a key in
 * the environment it is a real one, and calls cost money:
 *
 *     ANTHROPIC_API_KEY=…           anthropic:claude-sonnet-5    npm install ai @ai-sdk/anthropic
 *     OPENAI_API_KEY=…              openai:gpt-5.4               npm install ai @ai-sdk/openai
 *     NERVE_MODEL=PROVIDER:MODEL    the one you name, with the key that its provider wants
 *     NERVE_MODEL=scripted          the scripted one, whatever keys there are
 */
import type { Script, ScriptFunction } from 'nerve/gateway'
import type { Model } from 'nerve/models'
import { scriptedModel } from 'nerve/testing'

const REAL = { ANTHROPIC_API_KEY: 'anthropic:claude-sonnet-5', OPENAI_API_KEY: 'openai:gpt-5.4' } as const

export function modelFor(script: Script | ScriptFunction, env: NodeJS.ProcessEnv = process.env): Model {
  const withKey = Object.entries(REAL).find(([key]) => (env[key] ?? '') !== '')?.[1]
  const chosen = env['NERVE_MODEL'] || withKey || 'scripted'
  return chosen === 'scripted' ? scriptedModel(script) : chosen
}

/** The fields of an agent bundle, as JSON Schema: what the published schema is made of, and what bundles are checked by. */
import type { JsonSchema } from '../../base/json-schema.ts'

const TEXT = { type: 'string' }
const LIST = { type: 'array', items: TEXT }
const AMOUNT = { type: 'number', minimum: 0 }
const VARIABLES = { type: 'object', additionalProperties: TEXT }
const lists = (description: string): JsonSchema => ({
  type: 'object',
  description,
  properties: { allow: LIST, deny: LIST },
  additionalProperties: false,
})

const LIMITS: JsonSchema = {
  type: 'object',
  description: 'Limits of each turn.',
  properties: {
    timeout: { anyOf: [AMOUNT, TEXT], description: 'How long a turn may take: milliseconds, or a text such as 20m.' },
    attempts: { type: 'integer', minimum: 1, description: 'How often a turn is tried in all.' },
    usd: { ...AMOUNT, description: 'What a turn may cost: set aside of the budget before it starts.' },
    tokens: { ...AMOUNT, description: 'The same in tokens.' },
    window: {
      type: 'number',
      exclusiveMinimum: 0,
      maximum: 1,
      description: 'How full the context window may get before it is compacted.',
    },
  },
  additionalProperties: false,
}

const PERMISSION: JsonSchema = {
  description: 'What it may do without asking.',
  anyOf: [
    { enum: ['allow', 'deny', 'ask'] },
    {
      type: 'object',
      properties: { allow: LIST, deny: LIST, otherwise: { enum: ['allow', 'deny', 'ask'] } },
      additionalProperties: false,
    },
  ],
}

const SANDBOX: JsonSchema = {
  description: 'What its programs can reach. Its folder, the network and what it keeps of itself are always in it.',
  anyOf: [
    { enum: ['none'] },
    {
      type: 'object',
      properties: {
        level: { enum: ['bwrap'] },
        writable: LIST,
        hidden: LIST,
        readable: LIST,
        network: { enum: [true] },
      },
      required: ['level'],
      additionalProperties: false,
    },
  ],
}

const SERVER: JsonSchema = {
  anyOf: [
    {
      type: 'object',
      properties: { command: TEXT, args: LIST, env: VARIABLES },
      required: ['command'],
      additionalProperties: false,
    },
    { type: 'object', properties: { url: TEXT, headers: VARIABLES }, required: ['url'], additionalProperties: false },
  ],
}

const BUNDLE_FIELDS: Readonly<Record<string, JsonSchema>> = {
  $schema: TEXT,
  description: TEXT,
  extends: { ...TEXT, description: 'The bundle that this one is laid over.' },
  use: { ...TEXT, description: 'The agent: claude, codex, copilot, …' },
  model: TEXT,
  prompt: {
    ...TEXT,
    description: 'Added to the instructions of the agent. In a .md file it is what follows the front matter.',
  },
  tools: lists('The tools that it has, in its own words.'),
  permission: PERMISSION,
  sandbox: SANDBOX,
  startTimeout: {
    anyOf: [AMOUNT, TEXT],
    description: 'How long it may take to start: milliseconds, or a text such as 2m.',
  },
  patience: { enum: ['hold', 'park'], description: 'Whether its process stays while a person thinks.' },
  limits: LIMITS,
  env: { ...VARIABLES, description: 'Variables for its process. No secrets: those are inherited.' },
  inherit: { ...LIST, description: 'Names of variables that it gets from the process of Nerve.' },
  mcpServers: { type: 'object', additionalProperties: SERVER },
  output: { type: 'object', description: 'A JSON Schema: then its results have data that fits.' },
  native: { type: 'object', description: 'Options of the vendor, handed on as they are.' },
}

export const BUNDLE_SCHEMA: JsonSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'An agent of Nerve',
  type: 'object',
  properties: BUNDLE_FIELDS,
  additionalProperties: false,
}

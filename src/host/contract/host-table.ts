/** What can be asked about definitions, the gateway and the host itself. */
import { z } from 'zod'
import { command, query } from './entry.ts'
import { count, definition, done, gateway, name, none, outline, params, time, value } from './schemas.ts'

const spec = z.record(z.string(), value).describe('schema/nerve-spec.schema.json says all of it')

export const HOST = {
  'definitions.list': query({ summary: 'List what can be started', input: none, output: z.array(definition) }),
  'definitions.problems': query({
    summary: 'Files of definitions that could not be loaded, and why',
    input: none,
    output: z.array(z.strictObject({ source: z.string(), message: z.string() })),
  }),
  'definitions.explain': query({
    summary:
      'Show a definition: its options, its parts, a drawing, and what it takes as a JSON Schema where it says so',
    input: z.strictObject({ definition: name }),
    output: definition.extend({
      inputSchema: z.record(z.string(), value).optional(),
      params: params.optional(),
      budget: z.looseObject({}).optional(),
      errorPolicy: z.string(),
      durability: z.string(),
      outline,
      mermaid: z.string(),
    }),
  }),
  'definitions.validate': query({
    summary: 'Everything that is wrong with a definition, or with a spec as data, found without running it',
    input: z.strictObject({ definition: name.optional(), spec: spec.optional() }),
    output: z.strictObject({ ok: z.boolean(), problems: z.array(z.string()) }),
  }),
  'definitions.create': command({
    local: true,
    summary:
      'Check a spec and make it known by its name. Kept in the project; it can be created again, which replaces it',
    input: z.strictObject({ spec }),
    output: z.strictObject({
      definition: z.string(),
      unchecked: z.array(z.string()).describe('names in it that the host does not know yet'),
    }),
  }),
  'definitions.remove': command({
    local: true,
    summary: 'Forget a definition that was created as data. Refused while a run of it has not ended',
    input: z.strictObject({ definition: name }),
    output: done,
  }),
  'gateway.status': query({
    summary: 'The model gateways that run in the project',
    input: none,
    output: z.array(gateway),
  }),
  health: query({
    summary: 'Whether the host answers, and what it is doing',
    input: none,
    output: z.looseObject({
      ok: z.literal(true),
      version: z.string().optional(),
      host: z.string(),
      started: time,
      dir: z.string().optional(),
      open: count.describe('runs that have not ended'),
      questions: count,
    }),
  }),
  shutdown: command({
    summary: 'Stop the host: runs are parked and taken up by the next one',
    input: none,
    output: done,
  }),
} as const

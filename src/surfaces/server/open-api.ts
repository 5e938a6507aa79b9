/** The contract as an OpenAPI document. */
import { z } from 'zod'
import { contract, isFeed, isSafe, type Name } from '../../host/contract/contract.ts'
import type { AnyEntry } from '../../host/contract/entry.ts'
import { pathOf } from '../../host/contract/wire.ts'

type Json = Readonly<Record<string, unknown>>

export function openApi(version = '0'): Json {
  const names = Object.keys(contract) as Name[]
  const schemas: Record<string, Json> = { Error: ERROR }
  const paths = Object.fromEntries(names.map((name) => [pathOf(name), pathItem(name, schemas)]))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Nerve',
      version,
      summary: 'Durable programs of coding agents',
      description:
        'Commands are POST; queries and feeds are GET, and also POST with their input as JSON. Feeds are server-sent events. ' +
        'The same is served on a unix socket, where no token is needed and everything may be asked.',
    },
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas,
    },
  }
}

const ERROR: Json = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['name', 'message'],
      properties: {
        name: { type: 'string' },
        code: { type: 'string', description: 'one of docs/errors.md' },
        message: { type: 'string' },
        data: {
          type: 'object',
          properties: { reason: { type: 'string', description: 'which of the reasons that the code has' } },
        },
      },
    },
  },
}

/** What goes over the wire under a name of its own is put into `schemas`. */
function pathItem(name: Name, schemas: Record<string, Json>): Json {
  const { summary, scope, local }: AnyEntry = contract[name]
  const shared = {
    operationId: name.replaceAll('.', '_'),
    tags: [name.split('.')[0]],
    summary,
    description: `Needs the scope \`${scope}\`.${local === true ? ` ${LOCAL}` : ''}`,
    responses: { '200': success(name, schemas), ...refusal(name), default: FAILURE },
  }
  const inAddress = parameters(name, schemas)
  // An object has no place in an address: such a query is asked with a body.
  if (isSafe(name) && inAddress.every(({ schema }) => (schema as Json)['type'] !== 'object'))
    return { get: { ...shared, parameters: [...inAddress, ...(goesOn(name) ? [LAST_EVENT] : [])] } }
  const body = { required: true, content: { 'application/json': { schema: schemaOf(name, 'input', schemas) } } }
  return { post: { ...shared, requestBody: body } }
}

const LOCAL = 'Only for callers on this machine: on the unix socket. With a token it is refused, whatever its scope.'

function failure(description: string): Json {
  return { description, content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } }
}

const FAILURE = failure('It could not be done. The error says what is wrong and what to do.')

/** Who may not do it, where not everybody with a token may. */
function refusal(name: Name): { readonly 403?: Json } {
  const { scope, local, localFields = [] }: AnyEntry = contract[name]
  const fields = localFields.map((field) => `\`${field}\``).join(', ')
  const told = [
    ...(local === true ? ['Always, with a token (`data.reason` is `local`, or `scope`).'] : []),
    ...(fields === '' ? [] : [`With ${fields} and a token (\`data.reason\` is \`local\`).`]),
    ...(scope === 'read' || local === true ? [] : [`With a token below \`${scope}\` (\`scope\`).`]),
  ]
  return told.length === 0 ? {} : { 403: failure(told.join(' ')) }
}

/** A feed that was begun somewhere can be gone on with; one that starts something would start it again. */
function goesOn(name: Name): boolean {
  return isFeed(name) && 'after' in contract[name].input.shape
}

const LAST_EVENT: Json = {
  name: 'Last-Event-ID',
  in: 'header',
  required: false,
  description:
    'The `id` of the last event that came: goes on after it, as `after` does. Browsers send it by themselves.',
  schema: { type: 'string' },
}

function success(name: Name, schemas: Record<string, Json>): Json {
  if (!isFeed(name))
    return { description: 'Done', content: { 'application/json': { schema: schemaOf(name, 'output', schemas) } } }
  const id = goesOn(name)
    ? '`id` is where to go on (`Last-Event-ID`, or `after`)'
    : '`id`, where there is one, is where `events` of the run goes on (`after`)'
  return {
    description: `One event after the other: \`data\` is the item, ${id}. The event \`end\` is the last.`,
    content: { 'text/event-stream': { schema: { type: 'string' }, 'x-item': schemaOf(name, 'output', schemas) } },
  }
}

function parameters(name: Name, schemas: Record<string, Json>): readonly Json[] {
  const { properties = {}, required = [] } = schemaOf(name, 'input', schemas) as {
    properties?: Record<string, Json>
    required?: readonly string[]
  }
  return Object.entries(properties).map(([key, { description, ...schema }]) => ({
    name: key,
    in: 'query',
    required: required.includes(key),
    ...(description === undefined ? {} : { description }),
    ...(schema['type'] === 'array' ? { style: 'form', explode: false } : {}),
    schema,
  }))
}

function schemaOf(name: Name, side: 'input' | 'output', schemas: Record<string, Json>): Json {
  const whole: unknown = z.toJSONSchema(contract[name][side], { io: side })
  const text = JSON.stringify(whole).replaceAll('#/$defs/', '#/components/schemas/')
  const { $schema: _schema, $defs = {}, ...schema } = JSON.parse(text) as Json & { $defs?: Record<string, Json> }
  for (const [id, { id: _id, ...one }] of Object.entries($defs)) schemas[id] = one
  return schema
}

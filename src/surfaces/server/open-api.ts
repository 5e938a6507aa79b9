/** The contract as an OpenAPI document. */
import { z } from 'zod'
import { contract, isSafe, type Name } from '../../host/contract/contract.ts'
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
        'Commands are POST; queries and feeds are GET, and also POST with their input as JSON. Feeds are server-sent events.',
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
        data: { type: 'object' },
      },
    },
  },
}

/** What goes over the wire under a name of its own is put into `schemas`. */
function pathItem(name: Name, schemas: Record<string, Json>): Json {
  const { summary, scope } = contract[name]
  const shared = {
    operationId: name.replaceAll('.', '_'),
    tags: [name.split('.')[0]],
    summary,
    description: `Needs the scope \`${scope}\`.`,
    responses: { '200': success(name, schemas), default: FAILURE },
  }
  const inAddress = parameters(name, schemas)
  // An object has no place in an address: such a query is asked with a body.
  if (isSafe(name) && inAddress.every(({ schema }) => (schema as Json)['type'] !== 'object'))
    return { get: { ...shared, parameters: inAddress } }
  const body = { required: true, content: { 'application/json': { schema: schemaOf(name, 'input', schemas) } } }
  return { post: { ...shared, requestBody: body } }
}

const FAILURE: Json = {
  description: 'It could not be done. The error says what is wrong and what to do.',
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
}

function success(name: Name, schemas: Record<string, Json>): Json {
  if (contract[name].kind !== 'feed')
    return { description: 'Done', content: { 'application/json': { schema: schemaOf(name, 'output', schemas) } } }
  return {
    description:
      'One event after the other: `data` is the item, `id` is where to go on (Last-Event-ID, or `after`). The event `end` is the last.',
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

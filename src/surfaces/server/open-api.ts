/** The contract as an OpenAPI document. */
import { z } from 'zod'
import { contract, isSafe, type Name } from '../../host/contract/contract.ts'
import { pathOf } from '../../host/contract/wire.ts'

type Json = Readonly<Record<string, unknown>>

export function openApi(version = '0'): Json {
  const names = Object.keys(contract) as Name[]
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
    paths: Object.fromEntries(names.map((name) => [pathOf(name), pathItem(name)])),
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: ERROR },
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

function pathItem(name: Name): Json {
  const { summary, scope } = contract[name]
  const shared = {
    operationId: name.replaceAll('.', '_'),
    tags: [name.split('.')[0]],
    summary,
    description: `Needs the scope \`${scope}\`.`,
    responses: { '200': success(name), default: FAILURE },
  }
  if (isSafe(name)) return { get: { ...shared, parameters: parameters(name) } }
  const body = { required: true, content: { 'application/json': { schema: schemaOf(name, 'input') } } }
  return { post: { ...shared, requestBody: body } }
}

const FAILURE: Json = {
  description: 'It could not be done. The error says what is wrong and what to do.',
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
}

function success(name: Name): Json {
  if (contract[name].kind !== 'feed')
    return { description: 'Done', content: { 'application/json': { schema: schemaOf(name, 'output') } } }
  return {
    description:
      'One event after the other: `data` is the item, `id` is where to go on (Last-Event-ID, or `after`). The event `end` is the last.',
    content: { 'text/event-stream': { schema: { type: 'string' }, 'x-item': schemaOf(name, 'output') } },
  }
}

function parameters(name: Name): readonly Json[] {
  const { properties = {}, required = [] } = schemaOf(name, 'input') as {
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

function schemaOf(name: Name, side: 'input' | 'output'): Json {
  const { $schema: _schema, ...schema } = z.toJSONSchema(contract[name][side], { io: side })
  return schema
}

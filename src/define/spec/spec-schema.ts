/**
 * The fields of a spec, as JSON Schema: what the published schema is made of, and what specs are checked by. Control nodes
 * bring their own fields.
 */
import type { ControlForm } from '../control/control.ts'
import type { JsonSchema } from '../../base/json-schema.ts'

const EXPRESSION = { $ref: '#/$defs/expression' }
const COUNT = { type: 'integer', minimum: 1 }
const AMOUNT = { type: 'number', minimum: 0 }
export const LABEL: JsonSchema = { $ref: '#/$defs/label' }

/** What every step can have, whatever it runs. */
export const STEP_FIELDS: Readonly<Record<string, JsonSchema>> = {
  after: { $ref: '#/$defs/after' },
  input: { $ref: '#/$defs/template' },
  when: EXPRESSION,
  policy: { $ref: '#/$defs/policy' },
  handles: { $ref: '#/$defs/handles' },
}

export const GRAPH_FIELDS: Readonly<Record<string, JsonSchema>> = {
  description: { type: 'string' },
  input: { $ref: '#/$defs/schema', description: 'A JSON Schema that the input must fit.' },
  params: { type: 'object', description: 'Default parameters; those of a run are laid over them.' },
  maxParallel: { ...COUNT, description: 'How many steps may run at a time.' },
  errorPolicy: {
    enum: ['stop', 'skip', 'continue'],
    description: 'What a failed step means: stop everything, skip what comes after it, or continue without it.',
  },
  steps: { $ref: '#/$defs/steps' },
  output: { ...EXPRESSION, description: 'What it returns; without it, the results of the steps by their ids.' },
}

export const SPEC_FIELDS: Readonly<Record<string, JsonSchema>> = {
  $schema: { type: 'string' },
  nerve: { const: 1, description: 'The version of this format.' },
  name: LABEL,
  nodes: {
    description: 'Files that export the nodes, relative to this file. They are code of the same project.',
    anyOf: [
      { type: 'string', title: 'a file' },
      { type: 'array', items: { type: 'string' }, title: 'a list of files' },
    ],
  },
  budget: { $ref: '#/$defs/budget' },
  durability: { enum: ['process', 'power'] },
  ...GRAPH_FIELDS,
}

export const SPEC_REQUIRED: readonly string[] = ['nerve', 'name', 'steps']

/** A graph inside a step or a control node. */
export const NESTED_FIELDS: Readonly<Record<string, JsonSchema>> = { name: LABEL, ...GRAPH_FIELDS }

/** What `$ref` means where no check of its own is needed. */
export const DEFS: Readonly<Record<string, JsonSchema>> = {
  after: {
    description: 'The steps that must have ended before.',
    anyOf: [
      { type: 'string', title: 'the id of a step' },
      { type: 'array', items: { type: 'string' }, title: 'a list of ids of steps' },
    ],
  },
  handles: { type: 'boolean', description: 'Runs also when a step before it failed; errors has why.' },
  duration: {
    title: "a duration such as '90s', or milliseconds",
    anyOf: [{ type: 'string', pattern: '^\\s*\\d+(\\.\\d+)?\\s*(ms|s|m|h|d|w)\\s*$' }, AMOUNT],
  },
  budget: {
    type: 'object',
    properties: Object.fromEntries(['usd', 'tokens', 'calls', 'steps', 'seconds', 'depth'].map((one) => [one, AMOUNT])),
    additionalProperties: false,
  },
  policy: {
    description: 'How the step is run.',
    type: 'object',
    properties: {
      attempts: COUNT,
      backoff: {
        anyOf: [
          { $ref: '#/$defs/duration' },
          {
            type: 'object',
            properties: {
              initial: { $ref: '#/$defs/duration' },
              factor: AMOUNT,
              max: { $ref: '#/$defs/duration' },
              jitter: { type: 'number', minimum: 0, maximum: 1 },
            },
            additionalProperties: false,
          },
        ],
      },
      timeout: { $ref: '#/$defs/duration' },
      onError: {
        anyOf: [
          { const: 'fail' },
          { type: 'object', properties: { skip: {} }, required: ['skip'], additionalProperties: false },
        ],
      },
      effect: { enum: ['repeatable', 'resumable', 'once'] },
      recordInput: { type: 'boolean' },
      reserve: {
        type: 'object',
        properties: Object.fromEntries(['usd', 'tokens', 'calls', 'steps', 'seconds'].map((one) => [one, AMOUNT])),
        additionalProperties: false,
      },
    },
    additionalProperties: false,
  },
}

/** The fields of a control node that a step can hold beside its own; one whose names collide goes under `node`. */
export function stepFields({ fields }: ControlForm): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !Object.hasOwn(STEP_FIELDS, name)))
}

/** The published JSON Schema. */
export function specSchema(forms: readonly ControlForm[]): JsonSchema {
  return published({
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Nerve spec',
    description: 'A graph of steps as data: nerve run FILE, nerve explain FILE, nerve validate FILE.',
    ...object(SPEC_FIELDS, SPEC_REQUIRED),
    $defs: { ...TEXTS, schema: { type: 'object' }, ...DEFS, ...stepDefs(forms) },
  }) as JsonSchema
}

/** What our own check reads as more than text. */
const TEXTS: Readonly<Record<string, JsonSchema>> = {
  expression: {
    title: 'an expression',
    description:
      'CEL over JSON. Steps see input, params, results (of the steps they come after) and errors; conditions of loops see iteration, value and history.',
    type: 'string',
    minLength: 1,
  },
  label: {
    title: "a name without '/', '#' and line breaks",
    type: 'string',
    minLength: 1,
    maxLength: 200,
    pattern: '^[^/#\\r\\n]*$',
  },
  template: {
    description: 'What the node gets. In texts, ${{ expression }} stands for its value; everything else is data.',
  },
}

function stepDefs(forms: readonly ControlForm[]): Readonly<Record<string, JsonSchema>> {
  const kinds = (fieldsOf: (form: ControlForm) => object): JsonSchema[] =>
    forms.map((form) => object({ id: LABEL, kind: { const: form.kind }, ...fieldsOf(form) }, form.required))
  const graph = { graph: { $ref: '#/$defs/graph' } }
  return {
    steps: {
      anyOf: [
        { type: 'object', minProperties: 1, additionalProperties: { $ref: '#/$defs/step' } },
        {
          type: 'array',
          minItems: 1,
          items: { allOf: [{ $ref: '#/$defs/step' }, { type: 'object', required: ['id'] }] },
        },
      ],
    },
    step: {
      anyOf: [
        object({ id: LABEL, node: { $ref: '#/$defs/node' }, ...STEP_FIELDS }, ['node']),
        object({ id: LABEL, ...graph, ...STEP_FIELDS }, ['graph']),
        ...kinds((form) => ({ ...stepFields(form), ...STEP_FIELDS })),
      ],
    },
    node: {
      anyOf: [
        { type: 'string', minLength: 1, title: 'the name of a node' },
        object(graph, ['graph']),
        ...kinds(({ fields }) => fields),
      ],
    },
    graph: object(NESTED_FIELDS, ['steps']),
  }
}

function object(properties: object, required: readonly string[]): JsonSchema {
  return { type: 'object', properties, required, additionalProperties: false }
}

/** `facts` is for our own check; people read it as text. */
function published(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(published)
  if (typeof schema !== 'object' || schema === null) return schema
  const { facts, ...rest } = schema as { readonly facts?: readonly string[] }
  const inner = Object.fromEntries(Object.entries(rest).map(([key, one]) => [key, published(one)]))
  return Array.isArray(facts) ? { ...inner, description: `Sees ${facts.join(', ')}.` } : inner
}

import { checkKnown } from '../../base/check-known.ts'
import type { Duration } from '../../base/duration.ts'
import type { Schema } from '../../base/schema.ts'
import type { AskOptions } from '../../engine/definition.ts'
import {
  controlNode,
  decide,
  expressed,
  expressionField,
  given,
  type ControlFacts,
  type ControlForm,
  type ControlNode,
} from './control.ts'

type Prompt<Input> = (input: Input, facts: ControlFacts<Input>) => string | Promise<string>

export interface GateOptions<Input, Choice extends string, Answer> {
  readonly id?: string
  /** What the person is asked: a text, or made of the input. */
  readonly prompt: string | Prompt<Input>
  /** What can be answered. Without choices and schema: `approve` or `reject`. */
  readonly choices?: readonly Choice[]
  /** Checks (and may convert) a free answer. */
  readonly schema?: Schema<Answer>
  readonly deadline?: Duration
  /** When nobody answers in time: `fail` (default), `cancel` the run, or go on with a default. */
  readonly onDeadline?: 'fail' | 'cancel' | { readonly default: NoInfer<Answer> }
}

/**
 * Waits for a person; the answer is the result. A run that waits holds nothing in memory, for as long as it takes.
 *
 * ```ts
 * import { Gate } from 'nerve/control'
 *
 * export default Gate({
 *   id: 'approval',
 *   prompt: (draft: { title: string }) => `Publish ${draft.title}?`,
 *   choices: ['publish', 'revise'],
 *   deadline: '2d',
 *   onDeadline: { default: 'revise' },
 * })
 * ```
 */
export function Gate<Input = unknown, const Choice extends string = 'approve' | 'reject', Answer = Choice>(
  options: GateOptions<Input, Choice, Answer>,
): ControlNode<Input, Answer> {
  checkKnown('Gate', options, ['id', 'prompt', 'choices', 'schema', 'deadline', 'onDeadline'])
  const { id = 'gate', prompt, choices, schema, deadline, onDeadline } = options
  const asking = given({ choices, schema, deadline, onDeadline }) as AskOptions<string, string>
  return controlNode<Input, Answer>({
    kind: 'gate',
    id,
    parts: {},
    note: [
      ...(typeof prompt === 'string' ? [prompt] : []),
      ...(choices === undefined ? [] : [choices.join(' or ')]),
    ].join(' '),
    problems: problemsOf(options),
    async run(ctx, input) {
      const facts = { input, params: ctx.params }
      const text = typeof prompt === 'string' ? prompt : await decide(ctx, 'prompt', () => prompt(input, facts), prompt)
      return (await ctx.gate(text, asking)) as Answer
    },
    write: (write) => ({
      prompt: typeof prompt === 'string' ? prompt : { expression: write.expression('prompt', prompt) },
      ...given({ choices, deadline }),
      ...(schema === undefined ? {} : { schema: write.schema('schema', schema) }),
      ...(typeof onDeadline === 'object' ? { default: onDeadline.default } : given({ onDeadline })),
    }),
    copy: (name) => Gate<Input, Choice, Answer>({ ...options, id: name }),
  })
}

function problemsOf(options: GateOptions<never, string, unknown>): string[] {
  const { prompt, choices, schema, deadline, onDeadline } = options
  const isPrompt = typeof prompt === 'function' || (typeof prompt === 'string' && prompt !== '')
  return [
    ...(isPrompt ? [] : ['it has no prompt: give a text, or a function that makes one of the input.']),
    ...(choices !== undefined && (choices.length === 0 || new Set(choices).size !== choices.length)
      ? ['choices needs at least one, each given once.']
      : []),
    ...(choices !== undefined && schema !== undefined ? ['it has both choices and a schema. Give one of them.'] : []),
    ...(onDeadline !== undefined && deadline === undefined ? ['it has onDeadline without a deadline.'] : []),
  ]
}

export const gateForm: ControlForm = {
  kind: 'gate',
  fields: {
    prompt: {
      oneOf: [
        { type: 'string', minLength: 1 },
        {
          type: 'object',
          properties: { expression: expressionField('input', 'params') },
          required: ['expression'],
          additionalProperties: false,
        },
      ],
    },
    choices: { type: 'array', items: { type: 'string' }, minItems: 1, uniqueItems: true },
    schema: { $ref: '#/$defs/schema' },
    deadline: { $ref: '#/$defs/duration' },
    onDeadline: { enum: ['fail', 'cancel'] },
    default: {},
  },
  required: ['prompt'],
  read: ({ id, prompt, choices, schema, deadline, onDeadline, default: instead }, reader) =>
    Gate<unknown, string, unknown>({
      ...given({
        id: id as string | undefined,
        choices: choices as readonly string[] | undefined,
        schema: schema === undefined ? undefined : reader.schema(schema),
        deadline: deadline as Duration | undefined,
        onDeadline: instead === undefined ? (onDeadline as 'fail' | 'cancel' | undefined) : { default: instead },
      }),
      prompt:
        typeof prompt === 'string'
          ? prompt
          : expressed(
              reader,
              (prompt as { readonly expression: unknown }).expression,
              (_input: unknown, facts: ControlFacts) => facts,
            ),
    }),
}

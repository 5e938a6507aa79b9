/** Whether an answer is one that its question takes. What is refused changes nothing: the question stays open. */
import { checkShape, resolverOf, type JsonSchema } from '../base/json-schema.ts'
import { NerveError } from '../base/nerve-error.ts'
import { parseWith, type Schema } from '../base/schema.ts'
import type { QuestionAsked } from '../journal/events.ts'

/**
 * The answer as the question takes it: a choice by its label or number, or what `free` takes beside them, or a free answer that
 * fits the schema. With choices and a schema, an object is a free answer.
 */
export function checkAnswer(asked: QuestionAsked, schema: Schema | undefined, value: unknown): unknown {
  if (asked.free !== undefined) return chosen(asked, value) ?? fitting(asked, asked.free, value)
  const free =
    typeof value === 'object' &&
    value !== null &&
    (asked.schema === true || (asked.kind === 'recovery' && 'skip' in value))
  if (asked.choices !== undefined && !free) return chosen(asked, value) ?? notChosen(asked, value)
  return schema === undefined
    ? value
    : parseWith(schema, value, { code: 'answer-rejected', what: `The answer to '${asked.prompt}'` })
}

function chosen({ choices = [] }: QuestionAsked, value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : ''
  return (
    choices.find((choice) => choice === text) ??
    choices.find((choice) => choice.toLowerCase() === text.toLowerCase()) ??
    (/^\d+$/.test(text) ? choices[Number(text) - 1] : undefined)
  )
}

function notChosen({ prompt, choices = [] }: QuestionAsked, value: unknown): never {
  throw new NerveError(
    'answer-rejected',
    `${JSON.stringify(value)} is not a choice of '${prompt}'. Choose ${choices.map((choice, i) => `${i + 1} (${choice})`).join(', ')}.`,
    { data: { choices } },
  )
}

function fitting({ prompt, choices = [] }: QuestionAsked, free: JsonSchema, value: unknown): unknown {
  const found = checkShape(free, value, { path: [], resolve: resolverOf(free) })
  if (found.length === 0) return value
  const problems = found.map(({ path, message }) => [path.join('.'), message].join(' ').trim())
  const { description } = free
  const why = typeof description === 'string' ? description : problems.join(' ')
  throw new NerveError('answer-rejected', `The answer to '${prompt}' was not taken. ${why}`, {
    data: { choices, problems },
  })
}

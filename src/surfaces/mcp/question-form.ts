/** A question as a form that MCP clients can show, and what a person filled in as an answer. Pure. */
import type { ElicitRequestFormParams } from '@modelcontextprotocol/server'
import type { Question } from '../client/client.ts'

/** The name of a field says how it is read. With choices and something beside them there are both, and one is filled in. */
const TEXT = 'answer'
const TEXT_OR_JSON = 'value'
const MOST_DETAIL = 4_000

/** `problem` says what was wrong with the answer before. */
export function formOf(question: Question, problem?: string): ElicitRequestFormParams {
  const { choices, schema, free } = question
  const type = 'string' as const
  const isFree = free !== undefined || schema === true
  const chosen = { type, title: 'Answer', ...(choices === undefined ? {} : { enum: [...choices] }) }
  const description = typeof free?.['description'] === 'string' ? free['description'] : 'Text, or JSON'
  const written = { type, title: choices === undefined ? 'Answer' : 'Another answer', description }
  const properties = {
    ...(choices !== undefined || !isFree ? { [TEXT]: chosen } : {}),
    ...(isFree ? { [TEXT_OR_JSON]: written } : {}),
  }
  const names = Object.keys(properties)
  return {
    message: messageOf(question, problem),
    requestedSchema: { type: 'object', properties, ...(names.length === 1 ? { required: names } : {}) },
  }
}

function messageOf({ prompt, detail }: Question, problem: string | undefined): string {
  return [problem, prompt, detail === undefined ? undefined : shown(detail)]
    .filter((part) => part !== undefined)
    .join('\n\n')
}

/** What a person has to know to decide: the call that wants permission, the text to review. */
function shown(detail: unknown): string {
  const text = typeof detail === 'string' ? detail : JSON.stringify(detail, undefined, 2)
  return text.length > MOST_DETAIL ? `${text.slice(0, MOST_DETAIL)}…` : text
}

/** What was filled in, the likeliest meaning first; nothing when the form came back empty. */
export function answersIn(content: Readonly<Record<string, unknown>> = {}): readonly unknown[] {
  // Some clients fill in a choice on their own: what was written means more.
  const written = content[TEXT_OR_JSON] === '' ? undefined : content[TEXT_OR_JSON]
  const text = written ?? content[TEXT]
  if (text === undefined) return []
  if (typeof text !== 'string' || written === undefined) return [text]
  try {
    return [JSON.parse(text), text]
  } catch {
    return [text]
  }
}

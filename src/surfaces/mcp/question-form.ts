/** A question as a form that MCP clients can show, and what a person filled in as an answer. Pure. */
import type { ElicitRequestFormParams } from '@modelcontextprotocol/server'
import type { Question } from '../client/client.ts'

/** Every form has one field. Its name says how it is read. */
const TEXT = 'answer'
const TEXT_OR_JSON = 'value'
const MOST_DETAIL = 4_000

/** `problem` says what was wrong with the answer before. */
export function formOf(question: Question, problem?: string): ElicitRequestFormParams {
  const { choices, schema } = question
  const isFree = choices === undefined && schema === true
  const name = isFree ? TEXT_OR_JSON : TEXT
  const field = {
    type: 'string' as const,
    title: 'Answer',
    ...(choices === undefined ? {} : { enum: [...choices] }),
    ...(isFree ? { description: 'Text, or JSON' } : {}),
  }
  return {
    message: messageOf(question, problem),
    requestedSchema: { type: 'object', properties: { [name]: field }, required: [name] },
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
  const text = content[TEXT] ?? content[TEXT_OR_JSON]
  if (text === undefined) return []
  if (typeof text !== 'string' || content[TEXT] !== undefined) return [text]
  try {
    return [JSON.parse(text), text]
  } catch {
    return [text]
  }
}

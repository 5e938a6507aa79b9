/** What an agent wants to know of a person: as its tool says it, as Nerve asks it, and what the person has answered. */
import type { JsonSchema } from '../../base/json-schema.ts'
import type { AgentOpen, AgentQuestion, QuestionReply, QuestionRequest } from './adapter.ts'
import type { Verdict } from './permission.ts'

type Fields = Readonly<Record<string, unknown>>

/** The questions in the input of an agent's tool. Vendors have several or one, and give the same things other names. */
export function questionsIn(input: unknown): readonly AgentQuestion[] {
  const fields = fieldsOf(input)
  return listOf(fields['questions'] ?? [fields]).map((one) => questionIn(fieldsOf(one)))
}

function questionIn(fields: Fields): AgentQuestion {
  const { question, header, multiSelect, multiple, isSecret } = fields
  const free = fields['custom'] ?? fields['isOther'] ?? fields['allow_freeform'] ?? fields['allowFreeform']
  const options = listOf(fields['options'] ?? fields['choices']).flatMap(optionIn)
  return {
    text: typeof question === 'string' ? question : '',
    ...(typeof header === 'string' ? { header } : {}),
    ...(options.length === 0 ? {} : { options }),
    ...(multiSelect === true || multiple === true ? { many: true } : {}),
    ...(free === false ? {} : { free: true }),
    ...(isSecret === true ? { secret: true } : {}),
  }
}

function optionIn(option: unknown): NonNullable<AgentQuestion['options']> {
  if (typeof option === 'string') return [{ label: option }]
  const { label, description } = fieldsOf(option)
  if (typeof label !== 'string') return []
  return [{ label, ...(typeof description === 'string' ? { description } : {}) }]
}

/** How a question is asked: its options as choices, and what is taken beside them. */
export function formOf(question: AgentQuestion): {
  readonly choices?: readonly string[]
  readonly free?: JsonSchema
} {
  const { options = [], many = false, free = false } = question
  const choices = [...new Set(options.map(({ label }) => label))]
  if (choices.length === 0) return { free: ANYTHING }
  const forms = [
    ...(many ? [{ type: 'array', items: { enum: choices }, minItems: 1 }] : []),
    ...(free ? [{ type: 'string', minLength: 1 }] : []),
  ]
  if (forms.length === 0) return { choices }
  const ways = [...(many ? ['a list of them'] : []), ...(free ? ['your own words'] : [])]
  return { choices, free: { anyOf: forms, description: `Give one of the choices, or ${ways.join(', or ')}.` } }
}

const ANYTHING = { type: ['string', 'number', 'boolean'], minLength: 1, description: 'Give a text.' }

/** What a person has answered, as agents are told it. */
export function wordsOf(answer: unknown): readonly string[] {
  const said = Array.isArray(answer) ? (answer as readonly unknown[]) : [answer]
  return said.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)))
}

/** A reply with every field that an adapter may hand on. */
export function replyOf(reply: QuestionReply): Verdict & { readonly answers: readonly (readonly string[])[] } {
  if ('answers' in reply) return { verdict: 'allow', answers: reply.answers }
  if ('refused' in reply) return { verdict: 'deny', reason: reply.refused, answers: [] }
  return { verdict: 'defer', reason: 'not answered yet', answers: [] }
}

/** For agents that cannot be refused an answer without losing their turn: why there is none is the answer. */
export async function answersTo(
  { question }: Pick<AgentOpen, 'question'>,
  asked: Omit<QuestionRequest, 'questions'>,
  input: unknown,
): Promise<readonly (readonly string[])[]> {
  const questions = questionsIn(input)
  const { answers, reason = '' } = replyOf(await question({ ...asked, questions }))
  return questions.map((_, at) => answers[at] ?? [reason])
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

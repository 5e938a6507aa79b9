/** What an adapter is told about a call of a tool, before the agent makes it. */
import type { AgentOpen, PermissionRequest } from './adapter.ts'
import { subjectIn, verdictOf, type Verdict } from './permission.ts'
import { questionsIn, replyOf } from './questions.ts'

type Call = Omit<PermissionRequest, 'title'> & { readonly title?: string }

export interface Decided extends Verdict {
  /** By the text of the question. */
  readonly answers?: Readonly<Record<string, string>>
}

/** A tool for questions asks them; every other needs a permission. */
export async function decideCall(
  { permission, question }: Pick<AgentOpen, 'permission' | 'question'>,
  call: Call,
): Promise<Decided> {
  const { id, input, tool, kind, lacks = [], title = subjectIn(input) ?? tool } = call
  if (kind !== 'question') return verdictOf(await permission({ id, tool, kind, title, input, lacks }))
  const questions = questionsIn(input)
  const { answers, ...verdict } = replyOf(await question({ id, tool, questions, lacks }))
  if (verdict.verdict !== 'allow') return verdict
  const told = questions.map(({ text }, at) => [text, (answers[at] ?? []).join(', ')] as const)
  const said = Object.fromEntries(told)
  return { ...verdict, answers: said, input: { ...(input as object), answers: said } }
}

/**
 * What an agent asks in a turn: permissions go to rules and people, its own questions to people. What a person has to think about
 * is put off, where the agent can: then its process ends, and what was asked is kept in the journal until the answer comes.
 */
import type { ParkOptions, StepCall } from '../../engine/definition.ts'
import type {
  AgentAdapter,
  AgentQuestion,
  PermissionDecision,
  PermissionRequest,
  QuestionReply,
  QuestionRequest,
} from './adapter.ts'
import { answersBeside, CHOICES, decide, decisionOf, type PermissionPlan } from './permission.ts'
import { formOf, wordsOf } from './questions.ts'

/** What waits for a person while the process is away. It goes into the journal. */
export type PutOff =
  | { readonly permission: PermissionRequest; readonly decision?: PermissionDecision }
  | { readonly question: QuestionRequest; readonly answers: readonly (readonly string[])[] }

/** With the answer to what it asked last. */
export function answered(put: PutOff, answer: unknown): PutOff {
  if ('question' in put) return { ...put, answers: [...put.answers, wordsOf(answer)] }
  const decision = decisionOf(answer)
  return decision === undefined ? put : { ...put, decision }
}

/** What was put off, and what is asked about it. */
export interface Open {
  readonly put: PutOff
  readonly prompt: string
  readonly options: ParkOptions
}

export interface AskingOptions {
  readonly node: string
  readonly agent: Pick<AgentAdapter, 'name' | 'capabilities'>
  readonly plan: PermissionPlan
  /** The folder that the agent works in. */
  readonly cwd: string
  readonly call: Pick<StepCall, 'ask' | 'emit'>
  /** True when a person is waited for without the process. */
  readonly parks: boolean
  /** What was answered while the process was away. */
  readonly before: PutOff | undefined
}

export class Asking {
  /** What was put off last. */
  put: PutOff | undefined
  /** The request that the answer from before was given to. It is given once. */
  #given: string | undefined
  readonly #options: AskingOptions

  constructor(options: AskingOptions) {
    this.#options = options
  }

  /** What a person has to be asked about what was put off; undefined when all of it is answered. */
  open(put: PutOff | undefined): Open | undefined {
    if (put === undefined) return undefined
    if ('permission' in put)
      return put.decision === undefined ? { put, ...this.#permissionForm(put.permission) } : undefined
    const { question, answers } = put
    const next = question.questions[answers.length]
    return next === undefined ? undefined : { put, ...this.#questionForm(question, next) }
  }

  async permission(request: PermissionRequest): Promise<PermissionDecision> {
    const { plan, cwd, call, before } = this.#options
    const { id, tool, kind, title } = request
    const known =
      before !== undefined && 'permission' in before && this.#isAbout(before.permission, request) ? before : undefined
    const byRule = known?.decision === undefined ? decide(plan, request, cwd) : this.#kept(request, known.decision)
    call.emit('permission', { id, tool, kind, title, ...(byRule === 'ask' ? {} : byRule) })
    if (byRule !== 'ask') return byRule
    if (this.#defers(request)) return this.#putOff({ permission: request })
    const { prompt, options } = this.#permissionForm(request)
    const answer: unknown = await call.ask<string, unknown>(prompt, options)
    const decision = decisionOf(answer) ?? { allow: false }
    call.emit('permission', { id, tool, kind, title, ...decision })
    return decision
  }

  /** Rules can keep an agent from asking. That it may ask does not answer it: that is for a person, whatever they say. */
  async question(request: QuestionRequest): Promise<QuestionReply> {
    const { plan, cwd, call, before } = this.#options
    const { id, tool, questions } = request
    call.emit('question', { id, tool, questions })
    if (before !== undefined && 'question' in before && this.#isAbout(before.question, request))
      return { answers: before.answers }
    const title = questions.map(({ text }) => text).join(' ')
    const byRule = decide(plan, { tool, kind: 'question', title, input: { questions } }, cwd)
    if (byRule !== 'ask' && 'allow' in byRule && !byRule.allow) return { refused: byRule.reason ?? 'denied' }
    if (questions.some(({ secret }) => secret === true))
      return { refused: 'A secret is not asked for in this way, because answers are kept. Do without it.' }
    if (this.#defers(request) && questions.length > 0) return this.#putOff({ question: request, answers: [] })
    const answers: (readonly string[])[] = []
    for (const one of questions) {
      const { prompt, options } = this.#questionForm(request, one)
      answers.push(wordsOf(await call.ask<string, unknown>(prompt, options)))
    }
    return { answers }
  }

  /** In a turn that was broken off, an agent asks for the same again under another id. */
  #isAbout<One extends PermissionRequest | QuestionRequest>(before: One, request: One): boolean {
    if (this.#given === undefined && (before.id === request.id || wantsOf(before) === wantsOf(request)))
      this.#given = request.id
    return this.#given === request.id
  }

  /** Code may have changed since it was answered: what the agent cannot do as it was allowed, it does not do at all. */
  #kept(request: PermissionRequest, decision: PermissionDecision): PermissionDecision {
    const isEdited = 'allow' in decision && decision.allow && decision.input !== undefined
    return isEdited && !this.#edits(request) ? { allow: false, reason: this.#fixed(request) } : decision
  }

  #edits({ lacks = [] }: PermissionRequest): boolean {
    return this.#options.agent.capabilities.editedInput && !lacks.includes('editedInput')
  }

  #fixed({ tool }: PermissionRequest): string {
    return `${this.#options.agent.name} cannot take another input for ${tool}.`
  }

  #defers({ lacks = [] }: Pick<PermissionRequest, 'lacks'>): boolean {
    const { agent, parks } = this.#options
    return parks && agent.capabilities.defer && !lacks.includes('defer')
  }

  #putOff(put: PutOff): { readonly defer: true } {
    this.put = put
    return { defer: true }
  }

  #permissionForm(request: PermissionRequest) {
    const { id, tool, kind, title, input } = request
    const free = answersBeside(this.#edits(request) ? undefined : this.#fixed(request))
    return {
      prompt: `May ${this.#options.node} use ${tool}? ${title}`,
      options: { kind: 'permission', choices: CHOICES, free, detail: { id, tool, kind, input } },
    } as const
  }

  #questionForm({ id, tool }: QuestionRequest, question: AgentQuestion) {
    const { node } = this.#options
    const { text, header, options = [] } = question
    const about = { ...(header === undefined ? {} : { header }), ...(options.length === 0 ? {} : { options }) }
    return {
      prompt: text.trim() === '' ? `${node} asks: ${header ?? 'what now?'}` : text,
      options: { kind: 'ask', ...formOf(question), detail: { id, tool, node, ...about } },
    } as const
  }
}

function wantsOf(request: PermissionRequest | QuestionRequest): string {
  return JSON.stringify('questions' in request ? request.questions : [request.tool, request.kind, request.input])
}

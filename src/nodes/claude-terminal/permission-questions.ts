/**
 * The permissions that Claude Code asks for while a step waits for it, as questions. The dialog on the screen is there too:
 * whoever is first decides, and the other one is closed.
 */
import type { Redactor } from '../../base/redact.ts'
import type { StepCall } from '../../engine/definition.ts'
import { answersBeside, decisionOf } from '../agents/permission.ts'
import { formOf, questionsIn, wordsOf } from '../agents/questions.ts'
import type { HookEvent, PermissionHook } from './hook-events.ts'
import type { HookReply } from './hook-server.ts'

type Ask = StepCall['ask']

/** Who can be asked, for how long, and what must not be written into a question. */
export interface Asking {
  /** Without it the screen decides alone. */
  readonly ask: Ask | undefined
  readonly signal: AbortSignal | undefined
  readonly redactor: Redactor
}

interface Pending {
  /** The call of the tool, when it is known. */
  readonly call: string | undefined
  readonly withdraw: AbortController
  /** True once the dialog was on the screen. */
  seen: boolean
  readonly since: number
}

const ALWAYS = 'allow always'
const ASKING_TOOL = 'AskUserQuestion'
/** A dialog that has not been seen for this long was answered faster than anybody looked. */
const DIALOG_PATIENCE_MS = 5_000
const MOST_SUMMARY = 200

export class PermissionQuestions {
  readonly #asking: Asking
  readonly #pending = new Set<Pending>()
  /** Calls of tools that have begun, by their ids. */
  readonly #calls = new Map<string, string>()

  #ended = false

  constructor(asking: Asking) {
    this.#asking = asking
  }

  get open(): number {
    return this.#pending.size
  }

  /** What is known of the call of a tool decides what is asked no longer. */
  note(event: HookEvent): void {
    if (event.type === 'tool-start') this.#calls.set(event.id, sameCall(event.tool, event.input))
    else if (event.type === 'tool-end') {
      this.#calls.delete(event.id)
      this.#withdraw(({ call }) => call === event.id)
    } else if (event.type !== 'permission') this.withdrawAll()
  }

  /** The dialog is on the screen, or it is not. */
  sees(dialog: boolean): void {
    if (dialog) for (const one of this.#pending) one.seen = true
    else this.#withdraw(({ seen, since }) => seen || performance.now() - since > DIALOG_PATIENCE_MS)
  }

  withdrawAll(): void {
    this.#withdraw(() => true)
  }

  /** The answer for Claude Code; an empty one when it was given at the screen. */
  async put(event: PermissionHook, gone: AbortSignal): Promise<HookReply> {
    const { ask, signal: step, redactor } = this.#asking
    if (ask === undefined || this.#ended) return {}
    const pending: Pending = {
      call: this.#callOf(event),
      withdraw: new AbortController(),
      seen: false,
      since: performance.now(),
    }
    this.#pending.add(pending)
    const signal = AbortSignal.any([pending.withdraw.signal, gone])
    const way: Way = { ask, redactor, signal }
    try {
      return replyOf(event.tool === ASKING_TOOL ? await answers(way, event) : await decision(way, event))
    } catch (error) {
      // Decided at the screen, or the step has ended: there is nothing to say.
      if (signal.aborted || step?.aborted === true || this.#ended) return {}
      throw error
    } finally {
      this.#pending.delete(pending)
    }
  }

  /** The step has ended: what is asked from now on is for the screen. */
  end(): void {
    this.#ended = true
    this.withdrawAll()
  }

  #callOf({ tool, input }: PermissionHook): string | undefined {
    const sought = sameCall(tool, input)
    const open = new Set([...this.#pending].map(({ call }) => call))
    return [...this.#calls].find(([id, call]) => call === sought && !open.has(id))?.[0]
  }

  #withdraw(which: (one: Pending) => boolean): void {
    for (const one of this.#pending)
      if (which(one)) one.withdraw.abort(new Error('It was decided at the screen of Claude Code.'))
  }
}

interface Way {
  readonly ask: Ask
  readonly redactor: Redactor
  readonly signal: AbortSignal
}

interface Decision {
  readonly behavior: 'allow' | 'deny'
  readonly message?: string
  readonly updatedInput?: unknown
  readonly updatedPermissions?: readonly unknown[]
}

function replyOf(decision: Decision): HookReply {
  return { hookSpecificOutput: { hookEventName: 'PermissionRequest', decision } }
}

async function decision({ ask, redactor, signal }: Way, event: PermissionHook): Promise<Decision> {
  const { tool, input, suggestions } = event
  const always = suggestions.length > 0
  const detail = redactor.value({ tool, input, ...(always ? { suggestions } : {}) })
  const choices = ['allow', ...(always ? [ALWAYS] : []), 'deny']
  const asked = { kind: 'permission', choices, free: answersBeside(), detail, signal } as const
  const answer = await ask<string, unknown>(`Claude wants to use ${tool}${summaryOf(input, redactor)}`, asked)
  if (answer === ALWAYS) return { behavior: 'allow', updatedPermissions: suggestions }
  const decided = decisionOf(answer)
  if (decided === undefined || !('allow' in decided)) return { behavior: 'deny' }
  if (!decided.allow) return { behavior: 'deny', ...(decided.reason === undefined ? {} : { message: decided.reason }) }
  return { behavior: 'allow', ...('input' in decided ? { updatedInput: decided.input } : {}) }
}

/** What the model wants to know of the person: each question is one of its own. */
async function answers({ ask, redactor, signal }: Way, { input }: PermissionHook): Promise<Decision> {
  const given: Record<string, string> = {}
  for (const one of questionsIn(input)) {
    const asked = { kind: 'ask', ...formOf(one), detail: redactor.value(one), signal } as const
    given[one.text] = wordsOf(await ask<string, unknown>(one.text, asked)).join(', ')
  }
  return { behavior: 'allow', updatedInput: { ...input, answers: given } }
}

/** One line of what it is about: the command, the file, the address. */
function summaryOf(input: Readonly<Record<string, unknown>>, redactor: Redactor): string {
  const about = [input['command'], input['file_path'], input['url']].find((one) => typeof one === 'string')
  if (typeof about !== 'string') return ''
  const [first = ''] = redactor.text(about).split('\n')
  return `: ${first.length > MOST_SUMMARY ? `${first.slice(0, MOST_SUMMARY)}…` : first}`
}

function sameCall(tool: string, input: unknown): string {
  return `${tool} ${JSON.stringify(input)}`
}

/** Where questions of the driven runs are answered: by the person at the terminal, or with --yes by the first choice. */
import { isNerveError } from '../../base/nerve-error.ts'
import type { OpenQuestion } from '../../journal/port.ts'
import { oneLine } from './printable.ts'
import type { KnownQuestion, Progress } from './progress.ts'
import { me } from './project.ts'
import type { RunHost } from './run-host.ts'
import { answerValues } from './values.ts'
import type { View } from './view.ts'

export interface DeskOptions {
  readonly view: View
  readonly yes: boolean
  readonly interactive: boolean
  /** Whether it is known that a question is open: what is told of one may be long past (default: always). */
  readonly isOpen?: (question: KnownQuestion) => boolean
}

export class Desk {
  readonly #host: Pick<RunHost, 'answer'>
  readonly #progress: Progress
  readonly #options: DeskOptions
  readonly #tried = new Set<string>()
  #asking: { readonly id: string; readonly gone: AbortController } | undefined
  #closed = false

  constructor(host: Pick<RunHost, 'answer'>, progress: Progress, options: DeskOptions) {
    this.#host = host
    this.#progress = progress
    this.#options = options
  }

  /** True when this question will be answered from here. */
  takes(question: OpenQuestion): boolean {
    return this.#saysYes(question) || (this.#options.interactive && !this.#closed)
  }

  /** Looks for questions to answer, and lets go of one that was answered elsewhere. */
  look(): void {
    const asking = this.#asking
    if (asking !== undefined && !this.#progress.questions.has(asking.id)) asking.gone.abort()
    if (this.#closed) return
    for (const question of this.#progress.questions.values()) {
      if (this.#tried.has(question.id) || this.#options.isOpen?.(question) === false) continue
      if (this.#saysYes(question)) {
        this.#tried.add(question.id)
        setImmediate(() => void this.#answer(question, question.choices?.[0] ?? ''))
      } else if (this.#options.interactive && this.#asking === undefined) {
        const gone = new AbortController()
        this.#asking = { id: question.id, gone }
        setImmediate(() => void this.#ask(question, gone))
      } else if (this.#options.view.tell !== undefined) {
        this.#tried.add(question.id)
        this.#options.view.tell(question)
      }
    }
  }

  close(): void {
    this.#closed = true
    this.#asking?.gone.abort()
  }

  /** Whether an effect that may have happened is repeated is for a person to decide, --yes or not. */
  #saysYes(question: OpenQuestion): boolean {
    return this.#options.yes && question.choices !== undefined && question.kind !== 'recovery'
  }

  async #ask(question: KnownQuestion, gone: AbortController): Promise<void> {
    let problem: string | undefined
    for (;;) {
      const text = await this.#options.view.ask?.(question, problem, gone.signal)
      if (text === undefined) break
      problem = await this.#answer(question, text)
      if (problem === undefined) break
    }
    this.#asking = undefined
    if (this.#progress.questions.has(question.id)) this.#tried.add(question.id)
    this.look()
  }

  /** Why the answer was not taken; undefined when it was, or when the question is closed. */
  async #answer(question: KnownQuestion, text: string): Promise<string | undefined> {
    let problem: string | undefined
    for (const value of answerValues(question, text)) {
      try {
        await this.#host.answer(question.id, value, me())
        return undefined
      } catch (error) {
        const message = oneLine((error as Error).message)
        if (!isNerveError(error, 'answer-rejected')) {
          this.#options.view.say(message)
          return undefined
        }
        problem ??= message
      }
    }
    return problem
  }
}

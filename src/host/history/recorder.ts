/** Turns what is done with a node into the lines of its history. */
import { errorData } from '../../base/nerve-error.ts'
import type { StepCall } from '../../engine/definition.ts'
import type { HistoryLine, HistoryOperation } from './history.ts'

/** How much of the text of live parts is kept while they come: the latest. */
const MOST_BUFFER = 262_144
const LONGEST_WORD = 4_096

/** What takes lines: a history, or nothing. */
export interface HistorySink {
  record(line: HistoryLine): number
}

export interface Recording {
  /** The same emit, with what it sends kept for the history. */
  readonly emit: StepCall['emit']
  readonly ended: (output: unknown) => void
  readonly failed: (error: unknown) => void
}

export interface Begun {
  readonly operation: HistoryOperation
  readonly input?: unknown
  readonly call?: StepCall
  readonly now: () => number
}

export function beginRecording(sink: HistorySink | undefined, begun: Begun): Recording {
  const { operation, call, now } = begun
  const emit: StepCall['emit'] = (type, data) => call?.emit(type, data)
  if (sink === undefined) return { emit, ended: ignore, failed: ignore }
  const step = call === undefined ? {} : { run: runOf(call), path: call.path }
  const since = now()
  const of = sink.record({ operation, ...('input' in begun ? { input: begun.input } : {}), ...step })
  const stream = new StreamText()
  const end = (outcome: Pick<HistoryLine, 'output' | 'error'>): void => {
    const { text } = stream
    const parts = text === undefined ? { operation } : { operation: 'stream' as const, buffer: text }
    sink.record({ ...parts, of, ...outcome, ms: now() - since, ...step })
  }
  return {
    emit(type, data) {
      stream.take(data)
      emit(type, data)
    },
    ended: (output) => end(output === undefined ? {} : { output }),
    failed: (error) => end({ error: errorData(error) }),
  }
}

const ignore = (): void => undefined

/** The key of a step is its run and its path. */
export function runOf({ key, path }: StepCall): string {
  return key.endsWith(`/${path}`) ? key.slice(0, -path.length - 1) : key
}

/** The text of live parts, all together; of very much, the end. */
class StreamText {
  #text: string | undefined
  #dropped = 0

  take(data: unknown): void {
    this.#text ??= ''
    if (typeof data === 'string') this.#text += data
    else if (data instanceof Uint8Array) this.#text += Buffer.from(data).toString('utf8')
    else return
    if (this.#text.length > MOST_BUFFER * 2) this.#cut()
  }

  get text(): string | undefined {
    if (this.#text !== undefined && this.#text.length > MOST_BUFFER) this.#cut()
    return this.#dropped === 0 ? this.#text : `(${this.#dropped} characters before) …${this.#text}`
  }

  /** Cuts between words: half a secret would not be known as one. */
  #cut(): void {
    const text = this.#text ?? ''
    const kept = text.slice(-MOST_BUFFER)
    const space = kept.slice(0, LONGEST_WORD).search(/\s/)
    this.#text = space < 0 ? kept.slice(LONGEST_WORD) : kept.slice(space)
    this.#dropped += text.length - this.#text.length
  }
}

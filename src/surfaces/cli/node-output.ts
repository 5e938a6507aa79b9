/**
 * What the command of a node prints goes where it would go without Nerve, as it comes; with --json it is in the result alone.
 * Live parts that did not reach this process are printed from the result, when that has all of them.
 */
import type { Output } from './output.ts'
import { clean } from './printable.ts'

interface Part {
  readonly type: string
  readonly data?: unknown
}

/** The parts that are text, each by the name that the whole of it has in a result. */
type Stream = 'stdout' | 'stderr' | 'output'

const STREAMS: readonly Stream[] = ['stdout', 'stderr', 'output']

export class NodeOutput {
  /** True when the result has been shown already. */
  streamed = false
  readonly #out: Output
  readonly #shows: boolean
  /** How many characters of each were printed. */
  readonly #printed: Record<Stream, number> = { stdout: 0, stderr: 0, output: 0 }
  #gap = false

  constructor(out: Output, streams: boolean) {
    this.#out = out
    this.#shows = streams && !out.json
  }

  hear({ type, data }: Part): void {
    if (!this.#shows) return
    if (type === 'gap') this.#gap = true
    const stream = STREAMS.find((one) => one === type)
    if (stream === undefined || typeof data !== 'string' || this.#gap) return
    this.#print(stream, data)
  }

  /** What was missing. */
  end(run: string, output: unknown): void {
    if (!this.#gap || typeof output !== 'object' || output === null) return
    const whole = output as Readonly<Record<string, unknown>>
    for (const stream of STREAMS) {
      const text = whole[stream]
      if (typeof text === 'string' && whole['truncated'] !== true)
        this.#print(stream, text.slice(this.#printed[stream]))
    }
    if (whole['truncated'] === true)
      process.stderr.write(`nerve: Some of the output is missing here. What is kept of it: nerve show ${run}\n`)
  }

  #print(stream: Stream, text: string): void {
    if (text === '') return
    this.#printed[stream] += text.length
    this.streamed = true
    if (stream === 'stderr') process.stderr.write(process.stderr.isTTY ? clean(text) : text)
    else this.#out.write(process.stdout.isTTY ? clean(text) : text)
  }
}

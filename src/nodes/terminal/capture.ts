/** What one command prints: kept as plain text, and handed on as it comes, without escape sequences. */
import { Transcript, type TranscriptLimits } from './transcript.ts'

export class Capture {
  /** True while what is printed belongs to the command. */
  open = false
  /** True when a command has begun under this capture. */
  begun = false
  exitCode: number | undefined
  readonly transcript: Transcript
  readonly #onText: ((text: string) => void) | undefined
  #fresh = ''
  #returned = false

  constructor(
    limits: TranscriptLimits,
    size: { readonly cols: number; readonly rows: number },
    onText?: (text: string) => void,
  ) {
    this.transcript = new Transcript(limits, size.cols, size.rows)
    this.#onText = onText
  }

  begin(): void {
    this.open = true
    this.begun = true
  }

  end(code: number | undefined): void {
    this.open = false
    if (code !== undefined) this.exitCode = code
  }

  text(text: string, ends: number): void {
    if (!this.open) return
    this.transcript.text(text, ends)
    if (this.#onText === undefined || this.transcript.alternate) return
    // The return before a line end says nothing; alone it means that the line is written again.
    const returned = this.#returned && !text.startsWith('\r\n')
    this.#returned = false
    const lines = text.replaceAll('\r\n', '\n')
    this.#fresh += returned ? `\r${lines}` : lines
  }

  control(code: number): void {
    if (!this.open) return
    this.transcript.control(code)
    if (this.#onText === undefined || this.transcript.alternate) return
    if (code === 0x0d) this.#returned = true
    else if (code === 0x0a || code === 0x09 || code === 0x08) {
      this.#fresh += String.fromCharCode(code)
      this.#returned = false
    }
  }

  escape(sequence: string): void {
    if (this.open) this.transcript.escape(sequence)
  }

  csi(final: string, params: string): void {
    if (this.open) this.transcript.csi(final, params)
  }

  /** Hands on what has come since the last time. */
  flush(): void {
    if (this.#fresh === '') return
    const fresh = this.#fresh
    this.#fresh = ''
    this.#onText?.(fresh)
  }
}

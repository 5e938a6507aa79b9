/**
 * The marks (OSC 133) that our shells print around prompts and commands. A mark counts only with the nonce of this
 * terminal, and only in its turn: each prompt has a number, so marks that are printed again (a log that is shown, a
 * screen that is copied) are not taken for new ones.
 *
 * A: prompt begins, B: input is awaited, C: a command begins, D: it has ended (without a code when none ran), P: more
 * input is awaited, U: this shell cannot have marks.
 */

export interface Mark {
  readonly kind: 'A' | 'B' | 'C' | 'D' | 'P' | 'U'
  readonly code?: number
}

const FORM = /^133;([ABCDPU])(?:;(\d*))?;n=([0-9a-f]+);k=(\d+)$/

export class MarkReader {
  /** Marks that were not ours, or not in their turn. */
  ignored = 0
  /** True while marks are read whose predecessors are lost: then any later turn is the next. */
  skips = false
  readonly #nonce: string
  #turn = 0

  constructor(nonce: string) {
    this.#nonce = nonce
  }

  /** The number of the prompt that was last heard of. */
  get turn(): number {
    return this.#turn
  }

  /** The mark in an OSC, when it is one of ours. */
  read(payload: string): Mark | undefined {
    if (!payload.startsWith('133;')) return undefined
    const [, kind, code, nonce, turn] = FORM.exec(payload) ?? []
    const number = Number(turn)
    const next = kind === 'D' ? this.#turn + 1 : this.#turn
    const inTurn = number === next || (this.skips && number > next)
    if (nonce !== this.#nonce || !inTurn) {
      this.ignored += 1
      return undefined
    }
    this.#turn = number
    return { kind: kind as Mark['kind'], ...(code === undefined || code === '' ? {} : { code: Number(code) }) }
  }
}

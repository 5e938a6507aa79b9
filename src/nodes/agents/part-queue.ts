/** The parts of one turn on their way from an adapter to whoever drives it. It ends with the first `turn-end`. */
import type { AgentPart, AgentTurnEnd } from './adapter.ts'

export class PartQueue implements AsyncIterable<AgentPart> {
  readonly #parts: AgentPart[] = []
  #news: PromiseWithResolvers<void> = Promise.withResolvers()
  #ended = false

  get ended(): boolean {
    return this.#ended
  }

  push(part: AgentPart): void {
    if (this.#ended) return
    this.#ended = part.type === 'turn-end'
    this.#parts.push(part)
    this.#news.resolve()
  }

  end(end: Omit<AgentTurnEnd, 'type'>): void {
    this.push({ type: 'turn-end', ...end })
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AgentPart, void> {
    for (;;) {
      const part = this.#parts.shift()
      if (part !== undefined) {
        yield part
        if (part.type === 'turn-end') return
        continue
      }
      await this.#news.promise
      this.#news = Promise.withResolvers()
    }
  }
}

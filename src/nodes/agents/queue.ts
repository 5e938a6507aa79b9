/** What comes at its own time, for the one who waits for it. */
export class Queue<Item> implements AsyncIterable<Item> {
  readonly #items: Item[] = []
  #news: PromiseWithResolvers<void> = Promise.withResolvers()
  #ended = false

  get ended(): boolean {
    return this.#ended
  }

  /** Nothing comes after the end. */
  push(item: Item): void {
    if (this.#ended) return
    this.#items.push(item)
    this.#news.resolve()
  }

  close(): void {
    this.#ended = true
    this.#news.resolve()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void> {
    for (;;) {
      if (this.#items.length > 0) yield this.#items.shift() as Item
      else if (this.#ended) return
      else {
        await this.#news.promise
        this.#news = Promise.withResolvers()
      }
    }
  }
}

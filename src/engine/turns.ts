/** One after the other for each run tree: what is done to a stored run, so that no claim of this host fences another. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>()

  /** What is being done, and waits for its turn. */
  get taken(): ReadonlyMap<string, Promise<void>> {
    return this.#last
  }

  /** Resolves when nobody has the turn. */
  async free(root: string): Promise<void> {
    await this.#last.get(root)
  }

  take<Value>(root: string, work: () => Promise<Value>): Promise<Value> {
    const before = this.#last.get(root)
    const mine = before === undefined ? work() : before.then(work)
    const over = mine.then(ignore, ignore)
    this.#last.set(root, over)
    void over.then(() => {
      if (this.#last.get(root) === over) this.#last.delete(root)
    })
    return mine
  }
}

function ignore(): void {
  // Whoever took the turn hears of it.
}

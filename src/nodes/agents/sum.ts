/** A number that an agent tells as a sum of all so far, where what was added is wanted. */
export class Sum {
  #before: number | undefined

  /** What was added since the last time; the first time nobody knows but the caller. */
  added(sum: number, first: number): number {
    const added = this.#before === undefined ? first : sum - this.#before
    this.#before = sum
    return Math.max(0, added)
  }
}

/** Such sums of several, by their names. */
export class Sums {
  readonly #sums = new Map<string, Sum>()

  added(name: string, sum: number, first: number): number {
    const one = this.#sums.get(name) ?? new Sum()
    this.#sums.set(name, one)
    return one.added(sum, first)
  }
}

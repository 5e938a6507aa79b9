import type { Tree } from './tree.ts'

/** Resting trees that stay in memory, up to a number; the one that rested longest goes first. */
export class Residents {
  readonly #most: number
  readonly #park: (tree: Tree) => void
  readonly #trees = new Set<Tree>()

  constructor(most: number, park: (tree: Tree) => void) {
    this.#most = most
    this.#park = park
  }

  add(tree: Tree): void {
    this.#trees.delete(tree)
    this.#trees.add(tree)
    for (const oldest of this.#trees) {
      if (this.#trees.size <= this.#most) return
      this.#trees.delete(oldest)
      if (oldest.idle) this.#park(oldest)
    }
  }

  remove(tree: Tree): void {
    this.#trees.delete(tree)
  }
}

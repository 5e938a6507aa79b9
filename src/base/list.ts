/**
 * Lists that mostly hold one thing. An empty array makes room for 17 when the first is pushed, which is too much for
 * what is made for every step. Whoever has a list goes on with what these functions return, and with nothing else.
 */

export const NONE: readonly never[] = Object.freeze([])

/** The list with one more at its end. */
export function added<Item>(list: readonly Item[], item: Item): readonly Item[] {
  return list.length === 0 ? [item] : inserted(list, item, list.length)
}

/** The list with one more before what is at `index`. */
export function inserted<Item>(list: readonly Item[], item: Item, index: number): readonly Item[] {
  if (list.length === 0) return [item]
  // Not the frozen one: what has items was made here.
  const own = list as Item[]
  if (index === own.length) own.push(item)
  else own.splice(index, 0, item)
  return own
}

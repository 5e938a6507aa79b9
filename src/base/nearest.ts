/** The known word that a mistyped one most likely means; undefined when none is near. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined
  // Every word of one letter is near every other: a guess has to keep something of what was written.
  let least = Math.min(Math.max(2, Math.floor(word.length / 3)) + 1, word.length)
  for (const one of known) {
    // Each letter that one has more is a change: there is no need to count the others, which takes long for long words.
    if (Math.abs(one.length - word.length) >= least && !one.startsWith(word)) continue
    const away = one.startsWith(word) && word.length > 1 ? 1 : distance(word, one)
    if (away >= least) continue
    least = away
    best = one
  }
  return best
}

/** How many letters must be added, dropped, changed or swapped with their neighbour. */
function distance(one: string, two: string): number {
  let before: number[] = []
  let row = Array.from({ length: two.length + 1 }, (_, index) => index)
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= two.length; j += 1) {
      const same = one[i - 1] === two[j - 1]
      const cost = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (same ? 0 : 1))
      const swapped = i > 1 && j > 1 && one[i - 1] === two[j - 2] && one[i - 2] === two[j - 1]
      next.push(swapped ? Math.min(cost, (before[j - 2] ?? 0) + 1) : cost)
    }
    before = row
    row = next
  }
  return row[two.length] ?? 0
}

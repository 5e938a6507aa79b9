/** Patterns of names: exact text, `*` for any text without `/`, `**` for any text. A missing pattern, `*` or `**` alone fit everything. */

type Test = (text: string) => boolean

/**
 * Undefined when everything fits. Not made with a regular expression: a pattern may come from somebody else, and one with many
 * stars would keep the process busy for longer than anybody lives.
 */
export function matcher(pattern: string | undefined): Test | undefined {
  if (pattern === undefined || pattern === '*' || pattern === '**') return undefined
  if (!pattern.includes('*')) return (text) => text === pattern
  const [first = '', ...parts] = pattern.split(/(\*+)/).filter((part, at) => at === 0 || part !== '')
  return (text) => text.startsWith(first) && endsOf(text, first.length, parts).at(-1) === text.length
}

/** Where in the text the parts of a pattern may end, from this place on: in ascending order, each place once. */
function endsOf(text: string, from: number, parts: readonly string[]): readonly number[] {
  let ends: readonly number[] = [from]
  for (const part of parts) {
    const [nearest] = ends
    if (nearest === undefined) return ends
    if (part === '*') ends = upToSlashes(text, ends)
    else if (part.startsWith('*')) ends = Array.from({ length: text.length - nearest + 1 }, (_, at) => nearest + at)
    else ends = ends.filter((end) => text.startsWith(part, end)).map((end) => end + part.length)
  }
  return ends
}

function upToSlashes(text: string, ends: readonly number[]): readonly number[] {
  const found: number[] = []
  for (const end of ends) {
    // Those of one piece between slashes end at the same places.
    if (end <= (found.at(-1) ?? -1)) continue
    const slash = text.indexOf('/', end)
    for (let at = end; at <= (slash === -1 ? text.length : slash); at += 1) found.push(at)
  }
  return found
}

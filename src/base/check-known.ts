/** The options of calls. Types would tell of one that is mistyped; but they are erased where a file runs, and data has none. */
import { nearest } from './nearest.ts'
import { NerveError } from './nerve-error.ts'

/** Refuses options that are not known: a mistyped limit must not be no limit. */
export function checkKnown(what: string, options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null)
    throw new NerveError('bad-option', `${what}: give options as an object, with ${known.join(', ')}.`)
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    const meant = nearest(name, known)
    const hint = meant === undefined ? `Known: ${known.join(', ')}.` : `Did you mean '${meant}'?`
    throw new NerveError('bad-option', `${what} has no option '${name}'. ${hint}`, { data: { option: name } })
  }
}

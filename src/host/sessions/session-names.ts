/** Names of sessions and of what is in them. They are also names of files, so they are plainer than labels. */
import { NerveError } from '../../base/nerve-error.ts'

const LONGEST = 100
const FORM = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/
const FORKED = /-fork-\d+$/

const NAME_RULE = `Use 1 to ${LONGEST} letters, digits, '-', '_' and '.', beginning with a letter, a digit or '_'.`

export function isName(name: unknown): name is string {
  return typeof name === 'string' && name.length <= LONGEST && FORM.test(name)
}

/** Two names that differ only in case would be one file on some machines. */
export function sameName(one: string, two: string): boolean {
  return one.toLowerCase() === two.toLowerCase()
}

export function checkName(name: unknown, what: string, hint = ''): asserts name is string {
  if (isName(name)) return
  throw new NerveError('bad-option', `${JSON.stringify(name)} is not a name for ${what}. ${NAME_RULE}${hint}`)
}

/** A free name for a copy: `shell-fork-1`, also when it is a copy of a copy. Lineage tells which of what. */
export function forkName(of: string, isTaken: (name: string) => boolean): string {
  const stem = of.replace(FORKED, '')
  for (let number = 1; ; number += 1) {
    const ending = `-fork-${number}`
    const name = `${stem.slice(0, LONGEST - ending.length)}${ending}`
    if (!isTaken(name)) return name
  }
}

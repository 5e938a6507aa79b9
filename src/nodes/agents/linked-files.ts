/** What files are called: a file has a name for each link that leads to it, and rules are about the file. */
import { readlinkSync } from 'node:fs'
import { isAbsolute, join, parse, relative, resolve, sep } from 'node:path'

/** As many as the system follows. */
const MOST_LINKS = 40
const BETWEEN = sep === '/' ? '/' : /[/\\]/

/** The names of a file as it was written: rules may be about any of them. */
export function namesOf(file: string, cwd: string): readonly string[] {
  const path = resolve(cwd, file)
  return [path, relative(cwd, path)]
}

/**
 * The names of a file where it really is. It may be two files: a program that knows nothing of links goes from `link/..` back to
 * where it was, and the system to what is above the folder that the link leads to.
 */
export function realNamesOf(file: string, cwd: string): readonly (readonly string[])[] {
  const base = realPath(cwd)
  return [resolve(cwd, file), withIn(cwd, file)].map((path) => {
    const real = realPath(path)
    return real === undefined || base === undefined ? [] : [real, relative(base, real)]
  })
}

/** The pattern for where links lead that it names itself: those before its first star. */
export function realPattern(pattern: string, cwd: string): string {
  const star = pattern.indexOf('*')
  const end = star === -1 ? pattern.length : pattern.slice(0, star).lastIndexOf('/') + 1
  const real = realPath(withIn(cwd, pattern.slice(0, end))) ?? cwd
  return star === -1 ? real : `${real.replace(/\/$/, '')}/${pattern.slice(end)}`
}

function withIn(cwd: string, file: string): string {
  return isAbsolute(file) ? file : `${cwd}${sep}${file}`
}

/** Also of what is not there yet; undefined when links lead in a circle. */
function realPath(path: string, left = { links: MOST_LINKS }): string | undefined {
  const { root } = parse(path)
  let place = root
  for (const name of path.slice(root.length).split(BETWEEN)) {
    const next = join(place, name)
    const target = name === '..' ? undefined : linkAt(next)
    if (target === undefined) place = next
    else {
      left.links -= 1
      const led = left.links < 0 ? undefined : realPath(withIn(place, target), left)
      if (led === undefined) return undefined
      place = led
    }
  }
  return place
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    // It is no link, or not there.
    return undefined
  }
}

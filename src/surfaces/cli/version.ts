import { existsSync, readFileSync } from 'node:fs'

/** The version of this package: in its sources and in its bundle, the nearest package.json above is its own. */
export function version(): string {
  let place = new URL('package.json', import.meta.url)
  while (!existsSync(place)) place = new URL('../package.json', place)
  return (JSON.parse(readFileSync(place, 'utf8')) as { version: string }).version
}

/** True when the first is an older version than the second. */
export function isOlder(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => text.split(/[.+-]/).slice(0, 3).map(Number))
  const differs = [0, 1, 2].find((at) => a?.[at] !== b?.[at])
  return differs !== undefined && (a?.[differs] ?? 0) < (b?.[differs] ?? 0)
}

/** Keys by their names, as a terminal sends them. */
import { nearest } from '../../base/nearest.ts'
import { UsageError } from './exit-code.ts'

const KEYS: Readonly<Record<string, string>> = {
  enter: '\r',
  tab: '\t',
  escape: '\u001B',
  space: ' ',
  backspace: '\u007F',
  delete: '\u001B[3~',
  up: '\u001B[A',
  down: '\u001B[B',
  right: '\u001B[C',
  left: '\u001B[D',
  home: '\u001B[H',
  end: '\u001B[F',
  pageup: '\u001B[5~',
  pagedown: '\u001B[6~',
}

export function keyNamed(name: string): string {
  const letter = /^ctrl-([a-z])$/i.exec(name)?.[1]?.toLowerCase()
  if (letter !== undefined) return String.fromCharCode(letter.charCodeAt(0) - 96)
  const found = KEYS[name.toLowerCase()]
  if (found !== undefined) return found
  const known = Object.keys(KEYS)
  const near = nearest(name, known)
  throw new UsageError(
    `--key: there is no key '${name}'. ${near === undefined ? `Known: ${known.join(', ')}, ctrl-a to ctrl-z.` : `Did you mean '${near}'?`}`,
  )
}

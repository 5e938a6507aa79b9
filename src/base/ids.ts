import { randomBytes } from 'node:crypto'

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** Ids sort by time (9 characters of milliseconds) and end in 7 random ones: short to type, safe to make anywhere. */
export function newId(now: number): string {
  let time = ''
  for (let rest = now, i = 0; i < 9; i += 1, rest = Math.floor(rest / 32)) time = `${ALPHABET.charAt(rest % 32)}${time}`
  let tail = ''
  for (const byte of randomBytes(7)) tail += ALPHABET.charAt(byte % 32)
  return time + tail
}

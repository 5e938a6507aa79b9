import { randomFillSync } from 'node:crypto'

/** Random bytes are fetched in stocks: asking the system for seven at a time costs more than everything else here. */
const stock = Buffer.alloc(7 * 256)
let taken = stock.length

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** Ids sort by time (9 characters of milliseconds) and end in 7 random ones: short to type, safe to make anywhere. */
export function newId(now: number): string {
  let time = ''
  for (let rest = now, i = 0; i < 9; i += 1, rest = Math.floor(rest / 32)) time = `${ALPHABET.charAt(rest % 32)}${time}`
  let tail = ''
  if (taken === stock.length) {
    randomFillSync(stock)
    taken = 0
  }
  for (let i = 0; i < 7; i += 1) tail += ALPHABET.charAt((stock[taken + i] ?? 0) % 32)
  taken += 7
  return time + tail
}

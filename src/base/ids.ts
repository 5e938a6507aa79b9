const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const FORM = new RegExp(`^[${ALPHABET}]{16}$`)

/**
 * Ids sort by time (9 characters of milliseconds) and end in 7 random ones: short to type, and different wherever they
 * are made. They are names, not secrets.
 */
export function newId(now: number): string {
  let time = ''
  for (let rest = now, i = 0; i < 9; i += 1, rest = Math.floor(rest / 32)) time = `${ALPHABET.charAt(rest % 32)}${time}`
  let tail = ''
  for (let i = 0; i < 7; i += 1) tail += ALPHABET.charAt(Math.floor(Math.random() * 32))
  return time + tail
}

/** What `newId` could have made. */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && FORM.test(value)
}

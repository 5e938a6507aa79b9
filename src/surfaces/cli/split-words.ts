/** A line into words as a shell does it: quotes and backslashes, and # for a comment. Nothing is expanded. Pure. */
import { UsageError } from './exit-code.ts'

export function splitWords(line: string): readonly string[] {
  const words: string[] = []
  let word: string | undefined
  let quote = ''
  for (let at = 0; at < line.length; at += 1) {
    const char = line.charAt(at)
    if (char === '\\' && quote !== "'" && at + 1 < line.length) {
      at += 1
      word = (word ?? '') + line.charAt(at)
    } else if (quote !== '') {
      if (char === quote) quote = ''
      else word = (word ?? '') + char
    } else if (char === '"' || char === "'") {
      quote = char
      word ??= ''
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (char === '#' && word === undefined) break
    else word = (word ?? '') + char
  }
  if (quote !== '') throw new UsageError(`A quote (${quote}) is not closed.`)
  return word === undefined ? words : [...words, word]
}

/** The command in a line that hands it to a shell, such as `/bin/bash -lc 'git status'`: rules are about that one. */
const HANDED = /^(?:\S*\/)?(?:ba|da|k|z)?sh -l?c (.+)$/s
const PIECE = /'([^']*)'|"((?:[^"\\$`]|\\.)*)"|\\(.)|([^\s'"\\;&|`<>()$]+)/gsy

export function commandIn(line: string): string {
  const word = HANDED.exec(line)?.[1]
  return (word === undefined ? undefined : unquoted(word)) ?? line
}

/** What a shell makes of one word; undefined when it is not one, or is more than its letters. */
function unquoted(word: string): string | undefined {
  let made = ''
  let read = 0
  for (const [piece, single, double, escaped, plain] of word.matchAll(PIECE)) {
    made += single ?? double?.replaceAll(/\\([$`"\\])/g, '$1') ?? escaped ?? plain ?? ''
    read += piece.length
  }
  return read === word.length ? made : undefined
}

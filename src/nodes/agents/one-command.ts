/**
 * Whether a line is one command in whichever shell reads it: bash, dash, zsh or fish. Seen from the outside that cannot be
 * known, so whatever makes a second command in one of them counts, in quotes too. What the one command does with its
 * arguments is another matter: `git -c core.pager=…` and `find -exec` run what they are told.
 */

/** Substitutions of a value can run what is in it: `${x@P}` in bash, `${~x}` in zsh, `$[x]` in both. */
const MORE = /[;&|`<>]|(?!\t)[\p{Cc}\p{Zl}\p{Zp}]|\$[({[]/u

/** Substitutions in fish, and qualifiers of patterns in zsh; what is remembered of earlier commands. Quotes keep it as text. */
const UNQUOTED = /[()]|![^\s=("']/

const QUOTED = /\$?'[^']*'|\$?"([^"]*)"/g

export function isOneCommand(line: string): boolean {
  return !MORE.test(line) && !UNQUOTED.test(withoutQuoted(line))
}

/** What escapes a quote differs, so that nothing is left out where anything might. */
function withoutQuoted(line: string): string {
  if (/[\\\u2018-\u201f]/u.test(line)) return line
  return line.replace(QUOTED, (quoted, double: string | undefined) => {
    if (quoted.startsWith('$')) return quoted
    return double === undefined ? "''" : `"${double.replaceAll(/[()]/g, '')}"`
  })
}

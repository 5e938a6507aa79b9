/**
 * Before Node 24, the PTY library may lose the last output of a program that ends. There a small shell stays after the
 * program, says with what it ended, and waits for an answer before it ends too: when the words have come, everything
 * before them has come.
 */

const MARK = '7777;nerve-exit'

/** Control characters of the person are for the program. At the end, whatever it left of the terminal is made usable. */
function script(nonce: string): string {
  return `trap : INT QUIT
"$@"
code=$?
trap '' TTIN TTOU
stty sane -echo 2>/dev/null
printf '\\033]${MARK};%s;n=${nonce}\\007' "$code"
read -r answer
exit "$code"`
}

export function needsHandshake(version: string = process.versions.node): boolean {
  return Number.parseInt(version, 10) < 24
}

export function withHandshake(file: string, args: readonly string[], nonce: string): { file: string; args: string[] } {
  return { file: '/bin/sh', args: ['-c', script(nonce), 'nerve-exit', file, ...args] }
}

/** The exit code, when an OSC is the end of our program. */
export function endedWith(payload: string, nonce: string): number | undefined {
  if (!payload.startsWith(MARK)) return undefined
  const found = /^;(\d+);n=([0-9a-f]+)$/.exec(payload.slice(MARK.length))
  return found?.[2] === nonce ? Number(found[1]) : undefined
}

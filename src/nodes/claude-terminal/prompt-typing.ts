/** Puts a prompt into the box for input of Claude Code, as a paste, and sends it. */
import type { ClaudeLife } from './claude-life.ts'
import { boxOf, watchScreen } from './screen-watch.ts'

const PASTE_BEGIN = '\u001b[200~'
const PASTE_END = '\u001b[201~'
/** Empties the box. In an empty one it does no harm once. */
const CLEAR = '\u0003'
const CLEAR_PATIENCE_MS = 500
const PASTE_PATIENCE_MS = 1_000

/** What an interrupted prompt, or a person, left in the box goes first. */
export async function typePrompt(life: ClaudeLife, prompt: string, signal: AbortSignal): Promise<void> {
  const before = boxOf(await life.look())
  if (before !== '') await life.terminal.write(CLEAR)
  const left = before === '' ? before : await boxChanged(life, before, CLEAR_PATIENCE_MS)
  await life.terminal.write(pasteOf(prompt))
  await boxChanged(life, left, PASTE_PATIENCE_MS)
  signal.throwIfAborted()
  await life.terminal.write('\r')
}

/** One piece, so that line breaks do not send it. A paste cannot end itself, and is no command for a shell, which would run
 *  without anybody being asked. */
function pasteOf(prompt: string): string {
  const text = prompt.replaceAll(PASTE_END, '').replaceAll(/\r\n?/g, '\n')
  return `${PASTE_BEGIN}${text.startsWith('!') ? ' ' : ''}${text}${PASTE_END}`
}

/** Waits until something else is in the box, or for as long as that is worth. */
async function boxChanged(life: ClaudeLife, from: string, ms: number): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const late = setTimeout(() => resolve(from), ms)
  const forget = watchScreen(life, ({ box }) => {
    if (box !== from) resolve(box)
  })
  return promise.finally(() => {
    clearTimeout(late)
    forget()
  })
}

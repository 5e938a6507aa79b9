/** Whether the code of a project may run that nobody has named, asked once at the terminal. */
import { createInterface } from 'node:readline/promises'
import type { Output } from './output.ts'
import { oneLine } from './printable.ts'

/** What asks; undefined when nobody is there. */
export function trustQuestion(out: Output): ((code: string) => Promise<boolean>) | undefined {
  if (!out.interactive) return undefined
  return async (code) => {
    const lines = createInterface({ input: process.stdin, output: process.stderr })
    // Ctrl-C and the end of the input are a no.
    const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
    try {
      process.stderr.write(
        `${oneLine(code)}\nholds code that would run with your rights, and was not made by you here. You are asked once for the project.\n`,
      )
      const answer = await Promise.race([lines.question('Trust it? [y/N] '), closed])
      return /^y(es)?$/i.test(answer.trim())
    } finally {
      lines.close()
    }
  }
}

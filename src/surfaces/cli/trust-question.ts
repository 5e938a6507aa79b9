/** Whether the code of a project file may run, asked once at the terminal. */
import { createInterface } from 'node:readline/promises'
import type { Output } from './output.ts'
import { oneLine } from './printable.ts'

/** What asks; undefined when nobody is there. */
export function trustQuestion(out: Output): ((file: string) => Promise<boolean>) | undefined {
  if (!out.interactive) return undefined
  return async (file) => {
    const lines = createInterface({ input: process.stdin, output: process.stderr })
    // Ctrl-C and the end of the input are a no.
    const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
    try {
      process.stderr.write(
        `${oneLine(file)}\nis code of this project that runs with your rights. You are asked once.\n`,
      )
      const answer = await Promise.race([lines.question('Trust it? [y/N] '), closed])
      return /^y(es)?$/i.test(answer.trim())
    } finally {
      lines.close()
    }
  }
}

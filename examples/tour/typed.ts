import { createInterface } from 'node:readline/promises'

/** A line that a person types. Ctrl-C and the end of the input end the tour, as they do while nothing is asked. */
export async function typed(prompt: string): Promise<string> {
  const reader = createInterface({ input: process.stdin, output: process.stdout })
  const leave = (): void => void process.kill(process.pid, 'SIGINT')
  reader.on('close', leave)
  try {
    return (await reader.question(prompt)).trim()
  } catch {
    return await new Promise<never>(leave)
  } finally {
    reader.off('close', leave).close()
  }
}

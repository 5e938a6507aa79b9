/**
 * The end of the process of a command. What a command loads and runs in it may end it too, by process.exit or by an error that nobody
 * catches. Then the command is not done, whatever the code was: a script must not take that for a run that is completed.
 */
import { writeSync } from 'node:fs'

const FAILED = 1
const STDERR = 2

const MESSAGE =
  'The process was ended before the command was done: what it ran called process.exit, or threw what nobody caught. ' +
  'What is recorded is kept, and runs go on with: nerve resume --all'

let isMeant = false

/** Ends it on purpose. */
export function endProcess(code: number): never {
  isMeant = true
  process.exit(code)
}

/** From now on, every other end is a failure, and said to be one. */
export function demandOwnEnd(json: boolean): void {
  process.on('exit', () => {
    if (isMeant) return
    process.exitCode = FAILED
    const text = json ? JSON.stringify({ error: { code: 'unexpected', message: MESSAGE } }) : `nerve: ${MESSAGE}`
    try {
      // Nothing is written later.
      writeSync(STDERR, `${text}\n`)
    } catch {
      // Nobody reads it: the code says it too.
    }
  })
}

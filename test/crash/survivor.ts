/**
 * A process that takes up what others left, one after the other. Most kills need no new process to be recovered from: one that is there already is
 * as good as a daemon is, and starting them was half of the time of the crash matrix.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { createInterface, type Interface } from 'node:readline'
import type { WorkerEnd } from 'nerve/testing'
import { compileCache } from '../built.ts'
import type { Left } from './shape.ts'

const PATIENCE_MS = 20_000

interface Current {
  readonly child: ChildProcessWithoutNullStreams
  readonly lines: Interface
  errors: string
}

export class Survivor {
  readonly #program: string
  #process: Current | undefined

  constructor(program: string) {
    this.#program = program
  }

  /** Drives what was left to its end. A process that failed at it is not used again. */
  async takeUp(left: Left): Promise<WorkerEnd> {
    const current = (this.#process ??= this.#start())
    const output = await new Promise<string | undefined>((resolve) => {
      const limit = setTimeout(() => {
        current.errors += `\nthe survivor was not done within ${PATIENCE_MS} ms`
        resolve(undefined)
      }, PATIENCE_MS)
      const done = (line: string | undefined): void => {
        clearTimeout(limit)
        current.lines.off('line', done)
        current.child.off('close', gone)
        resolve(line)
      }
      const gone = (): void => done(undefined)
      current.lines.on('line', done)
      current.child.on('close', gone)
      current.child.stdin.write(`${JSON.stringify(left)}\n`)
    })
    const { errors } = current
    if (output !== undefined && errors === '') return { code: 0, errors, output }
    this.end()
    return { code: 1, errors, output: output ?? '' }
  }

  end(): void {
    this.#process?.child.kill('SIGKILL')
    this.#process = undefined
  }

  #start(): Current {
    const child = spawn(process.execPath, [this.#program], { env: { ...process.env, ...compileCache() } })
    const started = { child, lines: createInterface({ input: child.stdout }), errors: '' }
    child.stderr.on('data', (data: Buffer) => (started.errors += String(data)))
    return started
  }
}

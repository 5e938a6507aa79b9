// Starts the child process of one cell and waits for its line of JSON, its death or its time limit.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { RESULT_MARK, type Failure, type Job, type Outcome } from './contract.ts'

const CELL = join(import.meta.dirname, '..', 'cell.ts')
const FLAGS = ['--expose-gc', '--max-old-space-size=8192', '--disable-warning=ExperimentalWarning']

export interface Ended {
  readonly outcome: Outcome
  readonly signal: NodeJS.Signals | null
  readonly timedOut: boolean
}

export function runCell(job: Job, limitSeconds: number): Promise<Ended> {
  // process.execArgv carries --conditions, so the cells see the same build of Nerve as the command that was typed.
  const child = spawn(process.execPath, [...process.execArgv, ...FLAGS, CELL, JSON.stringify(job)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: job.setup.dir,
  })
  let out = ''
  let err = ''
  let timedOut = false
  child.stdout.on('data', (chunk: Buffer) => (out = (out + chunk.toString()).slice(-200_000)))
  child.stderr.on('data', (chunk: Buffer) => (err = (err + chunk.toString()).slice(-4_000)))
  const timer = setTimeout(() => {
    timedOut = true
    child.kill('SIGKILL')
  }, limitSeconds * 1000)
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      const outcome = timedOut
        ? failure(`TIMEOUT after ${limitSeconds} s`)
        : parse(out, `exit ${code ?? signal}: ${err}`)
      resolve({ outcome, signal, timedOut })
    })
  })
}

export const failure = (error: string): Failure => ({ ok: false, error })

function parse(out: string, otherwise: string): Outcome {
  const line = out.split('\n').findLast((candidate) => candidate.startsWith(RESULT_MARK))
  if (line === undefined) return failure(`no result, ${otherwise.replaceAll(/\s+/g, ' ').trim().slice(0, 500)}`)
  return JSON.parse(line.slice(RESULT_MARK.length)) as Outcome
}

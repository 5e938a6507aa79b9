// The floors of shells: a PTY of `@lydell/node-pty` with bash, and a child process of bash, with nothing around them.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import pty from '@lydell/node-pty'
import type { AskTimes, Prepared, Setup } from '../harness/contract.ts'
import { expectEqual, now } from '../harness/measure.ts'
import { FLOOD, makeLines } from './shell-work.ts'

const PROMPT = 'ready> '

/** A shell whose output is counted, and told when a text has come. */
async function openShell() {
  const env = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', TERM: 'xterm-256color', PS1: PROMPT }
  const shell = pty.spawn('bash', ['--noprofile', '--norc', '-i'], { cols: 120, rows: 40, env, encoding: null })
  let bytes = 0
  let tail: Buffer = Buffer.alloc(0)
  let holds: (() => boolean) | undefined
  let found = Promise.withResolvers<void>()
  shell.onData((data: unknown) => {
    const chunk = data as Buffer
    bytes += chunk.length
    tail = chunk.length >= 200 ? chunk : Buffer.concat([tail.subarray(-200), chunk])
    if (holds?.() === true) found.resolve()
  })
  const until = (condition: () => boolean): Promise<void> => {
    holds = condition
    found = Promise.withResolvers<void>()
    if (condition()) found.resolve()
    return found.promise
  }
  const ends = (text: string) => (): boolean => tail.includes(text)
  await until(ends(PROMPT))
  return {
    type: (text: string): void => {
      tail = Buffer.alloc(0)
      shell.write(text)
    },
    until,
    ends,
    count: (): number => bytes,
    close: (): void => shell.kill('SIGKILL'),
  }
}

export async function printed(setup: Setup): Promise<Prepared<number>> {
  const { file, characters } = makeLines(setup)
  const shell = await openShell()
  return {
    steps: 1,
    close: shell.close,
    verify: (count) => expectEqual(count >= characters, true, 'everything printed'),
    run: async () => {
      const before = shell.count()
      shell.type(`cat ${file}\r`)
      await shell.until(() => shell.count() - before >= characters && shell.ends(PROMPT)())
      return shell.count() - before
    },
  }
}

/** Timed until the output has come; the prompt after it is waited for, and not counted. */
export async function echoed(): Promise<Prepared<AskTimes>> {
  const shell = await openShell()
  return {
    steps: 1,
    close: shell.close,
    verify: () => {},
    run: async (ordinal) => {
      const began = now()
      shell.type(`echo o${ordinal}\r`)
      // After the line that was typed comes a return: the shell has switched its paste mode off.
      await shell.until(shell.ends(`\ro${ordinal}\r\n`))
      const answered = now()
      await shell.until(shell.ends(PROMPT))
      return { pauseMs: 0, answerMs: answered - began }
    },
  }
}

export async function halted({ n }: Setup): Promise<Prepared<AskTimes>> {
  const shell = await openShell()
  return {
    steps: 1,
    close: shell.close,
    verify: () => {},
    run: async () => {
      const began = now()
      const before = shell.count()
      shell.type(`${FLOOD}\r`)
      await shell.until(() => shell.count() - before > n * 1_000_000)
      const asked = now()
      shell.type('\u0003')
      await shell.until(shell.ends(PROMPT))
      return { pauseMs: asked - began, answerMs: now() - asked }
    },
  }
}

export async function command(): Promise<Prepared<string>> {
  return {
    steps: 1,
    verify: (text) => expectEqual(text, 'out\n', 'output'),
    run: async () => {
      const child = spawn('bash', ['--noprofile', '--norc', '-c', 'echo out'], { stdio: ['ignore', 'pipe', 'pipe'] })
      let text = ''
      child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
      child.stderr.resume()
      await once(child, 'close')
      return text
    },
  }
}

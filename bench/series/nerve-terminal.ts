// Shells and terminals of Nerve, without an engine around them: what is measured is the node. Variants: `screen` (the default),
// `no-screen` (`screen: false`), `bash`.
import type { AskTimes, Prepared, Setup } from '../harness/contract.ts'
import { expectEqual, now } from '../harness/measure.ts'
import { door } from './nerve-entry.ts'
import { FLOOD, makeLines } from './shell-work.ts'

type Shell = import('nerve/terminal').TerminalNode

async function openShell({ variant }: Setup): Promise<Shell> {
  const { terminal } = (await import(door('terminal'))) as typeof import('nerve/terminal')
  const shell = terminal('shell', { command: 'bash', screen: variant === 'screen' })
  await shell.start()
  return shell
}

export async function printed(setup: Setup): Promise<Prepared<number>> {
  const { file, characters, lines } = makeLines(setup)
  const shell = await openShell(setup)
  let colours = 0
  for (let i = 0; i < lines; i += 7) colours += 9
  return {
    steps: 1,
    close: () => shell.stop(),
    // In the text of the result a line end is one character, and colours are none.
    verify: (count) => expectEqual(count, characters - lines - colours, 'characters'),
    run: async () => {
      const { output, dropped = 0 } = await shell.execute(`cat ${file}`)
      return output.length + dropped
    },
  }
}

export async function echoed(setup: Setup): Promise<Prepared<AskTimes>> {
  const shell = await openShell(setup)
  return {
    steps: 1,
    close: () => shell.stop(),
    verify: () => {},
    run: async (ordinal) => {
      const began = now()
      const { output } = await shell.execute(`echo o${ordinal}`)
      const answered = now()
      expectEqual(output, `o${ordinal}\n`, 'output')
      return { pauseMs: 0, answerMs: answered - began }
    },
  }
}

export async function halted(setup: Setup): Promise<Prepared<AskTimes>> {
  const shell = await openShell(setup)
  let characters = 0
  let enough = Promise.withResolvers<void>()
  shell.watch((part) => {
    if (part.type !== 'output') return
    characters += part.text.length
    if (characters > setup.n * 1_000_000) enough.resolve()
  })
  return {
    steps: 1,
    close: () => shell.stop(),
    verify: () => {},
    run: async () => {
      characters = 0
      enough = Promise.withResolvers<void>()
      const began = now()
      const flood = shell.execute(FLOOD)
      await enough.promise
      const asked = now()
      await shell.interrupt()
      const { exitCode } = await flood
      const answered = now()
      expectEqual(exitCode, 130, 'exit code')
      return { pauseMs: asked - began, answerMs: answered - asked }
    },
  }
}

export async function command(): Promise<Prepared<string>> {
  const { bash } = (await import(door('nodes'))) as typeof import('nerve/nodes')
  const echo = bash('echo', { command: 'echo out' })
  const call = { signal: new AbortController().signal, emit: () => {} } as unknown as Parameters<typeof echo.execute>[1]
  return {
    steps: 1,
    verify: (text) => expectEqual(text, 'out\n', 'output'),
    run: async () => (await echo.execute(undefined, call)).stdout,
  }
}

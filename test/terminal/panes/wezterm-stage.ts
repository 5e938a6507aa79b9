/** The double of WezTerm, as a program that can be started, with an instance of its own. */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { endServer } from './pane-stage.ts'

export interface Double {
  readonly program: string
  readonly socket: string
  readonly end: () => void
}

let count = 0

export function weztermDouble(): Double {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-wezterm-'))
  const program = join(dir, 'wezterm')
  const script = fileURLToPath(new URL('wezterm-double.ts', import.meta.url))
  // It is called many times for each look at a pane.
  const cache = `NODE_COMPILE_CACHE='${join(dir, 'cache')}'`
  writeFileSync(program, `#!/bin/sh\n${cache} exec '${process.execPath}' '${script}' "$@"\n`)
  chmodSync(program, 0o755)
  count += 1
  const socket = `nerve-double-${process.pid}-${count}`
  // A multiplexer that runs has a window.
  spawnSync('tmux', [
    '-L',
    socket,
    '-f',
    '/dev/null',
    'new-session',
    '-d',
    '-x',
    '100',
    '-y',
    '30',
    '--',
    'sleep',
    '1000',
  ])
  const end = (): void => {
    endServer(socket)
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
  }
  return { program, socket, end }
}

/** Projects whose tmux servers are gone after the test, also when it fails. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { terminal, type TerminalNode, type TerminalOptions } from 'nerve/terminal'
import { onTestFinished } from 'vitest'
import { paneIdentity } from '../../../src/nodes/panes/pane-options.ts'
import { installed } from '../open.ts'

/** Why tests of tmux are skipped, where they are. */
export const NO_TMUX = installed('tmux') ? '' : ' (SKIPPED: tmux is not installed)'

/** A folder of its own, with a tmux server of its own. */
export function project(name = ''): string {
  const dir = mkdtempSync(join(tmpdir(), `nerve-panes-${name}`))
  onTestFinished(() => {
    endServer(paneIdentity(dir, '').socket)
    rmSync(dir, { recursive: true, force: true, maxRetries: 3 })
  })
  return dir
}

/** tmux leaves the file of its socket behind. */
export function endServer(socket: string): void {
  spawnSync('tmux', ['-L', socket, 'kill-server'])
  rmSync(`/tmp/tmux-${process.getuid?.() ?? 0}/${socket}`, { force: true })
}

export function tmux(dir: string, ...args: readonly string[]): string {
  return spawnSync('tmux', ['-L', paneIdentity(dir, '').socket, ...args], { encoding: 'utf8' }).stdout.trim()
}

/** A terminal in tmux. What another process would make of the same id and options finds the same pane. */
export function inTmux(dir: string, id = 'shell', options: TerminalOptions = {}): TerminalNode {
  const made = terminal(id, {
    command: 'bash',
    in: { mux: 'tmux', project: dir },
    cwd: dir,
    timeout: '20s',
    ...options,
  })
  onTestFinished(() => made.stop())
  return made
}

/** WezTerm is tested against a double, which only shows that it is asked as its documentation says. */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WezTermPanes } from '../../../src/nodes/panes/wezterm-panes.ts'
import { NO_TMUX } from './pane-stage.ts'
import { panePortSuite } from './port-suite.ts'
import { weztermDouble } from './wezterm-stage.ts'

describe.skipIf(NO_TMUX !== '')(`panes${NO_TMUX}`, () => {
  panePortSuite('of WezTerm, by a double of it', async () => {
    const { end, ...double } = weztermDouble()
    return { port: new WezTermPanes(double), end: async () => end() }
  })

  it('are asked for by nothing that the double does not know: it is strict', () => {
    const { program, socket, end } = weztermDouble()
    onTestFinished(end)
    const run = (...args: string[]) =>
      spawnSync(program, args, { env: { ...process.env, WEZTERM_UNIX_SOCKET: socket }, input: '' }).status
    expect(run('cli', 'list', '--format', 'json')).toBe(0)
    expect(run('cli', 'list', '--formats', 'json')).toBe(2)
    expect(run('cli', 'get-text', '--pane-id', '0', 'stray')).toBe(2)
    expect(run('cli', 'get-text', '--pane-id', 'x')).toBe(2)
    expect(run('cli', 'spawn', '--shell')).toBe(2)
    expect(run('cli', 'dance')).toBe(2)
  })
})

it('text and cursor are of the same moment, also when a command ends between the two questions', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-moving-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const program = join(dir, 'wezterm')
  // The command has printed before the first list is asked for.
  writeFileSync(
    program,
    `#!/bin/sh
case "$*" in
*get-text*) if [ -e '${dir}/ran' ]; then printf 'go> echo one\\none\\ngo> \\n'; else printf 'go> \\n\\n\\n'; fi ;;
*) touch '${dir}/ran'; echo '[{"pane_id":7,"size":{"rows":3,"cols":80},"title":"","cwd":"","cursor_x":4,"cursor_y":2,"cursor_visibility":"Visible","is_active":true}]' ;;
esac
`,
  )
  chmodSync(program, 0o755)
  const view = await new WezTermPanes({ program }).look('7', 0)
  expect(view).toEqual({
    lines: ['go> echo one', 'one', 'go> '],
    rows: ['go> echo one', 'one', 'go> '],
    cursor: { row: 2, column: 4, visible: true },
  })
})

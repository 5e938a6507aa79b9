/** WezTerm is tested against a double, which only shows that it is asked as its documentation says. */
import { spawnSync } from 'node:child_process'
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

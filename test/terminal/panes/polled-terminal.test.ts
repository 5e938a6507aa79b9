/** Terminals in panes that can only be looked at, by a double of WezTerm. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { terminal, type TerminalNode, type TerminalOptions } from 'nerve/terminal'
import { WezTermPanes } from '../../../src/nodes/panes/wezterm-panes.ts'
import { changes } from '../../../src/nodes/panes/polled-process.ts'
import { until } from '../open.ts'
import { NO_TMUX } from './pane-stage.ts'
import { weztermDouble } from './wezterm-stage.ts'

const SHELL = { command: 'bash', args: ['--norc', '--noprofile'], env: { PS1: 'go> ' }, readyPattern: /go> $/ } as const

function stage(options: TerminalOptions = {}, pane?: string) {
  const { program, socket, end } = weztermDouble()
  onTestFinished(end)
  const port = new WezTermPanes({ program, socket })
  const open = (id: string, given = pane): TerminalNode => {
    const place = { mux: 'wezterm', program, socket, ...(given === undefined ? {} : { pane: given }) } as const
    const made = terminal(id, { ...SHELL, in: place, timeout: '20s', ...options })
    onTestFinished(() => made.stop())
    return made
  }
  return { port, open }
}

/** Each look is some programs, which have to be started. */
const PATIENCE_MS = 90_000

describe.skipIf(NO_TMUX !== '')(`a terminal in a pane that is looked at${NO_TMUX}`, { timeout: PATIENCE_MS }, () => {
  it('runs commands, reads, shows its screen, and says which rule fired', async () => {
    const { port, open } = stage()
    const shell = open('shell')
    const found = await shell.execute('echo one; echo two')
    expect(found).toMatchObject({ output: 'one\ntwo\ngo> ', rule: 'stable' })
    expect(found.exitCode).toBeUndefined()
    expect(shell.read()).toContain('one\ntwo\n')
    expect((await shell.screen()).rows.slice(0, 4)).toEqual(['go> echo one; echo two', 'one', 'two', 'go>'])
    expect(shell.info()).toMatchObject({ marked: false, pane: { mux: 'wezterm' } })
    const { pane } = shell.info()
    await shell.run(`sh -c 'echo napping; exec sleep 100'`)
    await until(shell, () => shell.readTail(1) === 'napping')
    await shell.interrupt()
    expect((await shell.execute('echo free')).output).toContain('free\n')
    await shell.stop()
    expect((await port.list()).map(({ id }) => id)).not.toContain(pane!.id)
  })

  it('is attached to when it is there already, and then never ended', async () => {
    const { port, open } = stage()
    const first = open('first')
    await first.execute('where=kept')
    const { pane } = first.info()
    await first.detach()
    const second = open('second', pane!.id)
    expect((await second.execute('echo $where')).output).toContain('kept\n')
    await second.stop()
    expect((await port.list()).map(({ id }) => id)).toContain(pane!.id)
    await expect(open('third', '777').start()).rejects.toMatchObject({ code: 'pane-failed' })
  })

  it('ends when its pane does', async () => {
    const { open } = stage()
    const shell = open('shell')
    expect(await shell.execute('exit')).toMatchObject({ rule: 'exit' })
    expect(shell.state).toBe('stopped')
    await expect(shell.execute('echo')).rejects.toMatchObject({ code: 'terminal-ended' })
  })
})

describe('what has changed in a pane', () => {
  it('is what would have to be printed', () => {
    expect(changes(['$ '], ['$ '])).toBe('')
    expect(changes(['$ '], ['$ ls', 'a', '$ '])).toBe('ls\r\na\r\n$ ')
    expect(changes(['a', 'b', '$ '], ['b', '$ ls', 'c'])).toBe('ls\r\nc')
    expect(changes(['a', '10%'], ['a', '20%', 'b'])).toBe('\r\u001b[J20%\r\nb')
    expect(changes(['a', 'b', 'c'], ['a', 'x', 'c'])).toBe('\u001b[1A\r\u001b[Jx\r\nc')
    expect(changes(['a', 'b'], [''])).toBe('\u001b[H\u001b[2J')
  })
})

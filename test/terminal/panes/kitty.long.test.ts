/** kitty, the real one, on a screen that nobody sees. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { terminal } from 'nerve/terminal'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { KittyPanes } from '../../../src/nodes/panes/kitty-panes.ts'
import { installed } from '../open.ts'
import { panePortSuite } from './port-suite.ts'

const missing = ['kitty', 'Xvfb'].filter((program) => !installed(program))
const why = missing.length === 0 ? '' : ` (SKIPPED: ${missing.join(' and ')} not installed)`
if (why !== '') console.warn(`kitty is NOT tested${why}`)

interface Kitty {
  readonly socket: string
  readonly end: () => Promise<void>
}

async function startKitty(): Promise<Kitty> {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-kitty-'))
  const socket = `unix:${join(dir, 'socket')}`
  const screen = spawn('Xvfb', ['-displayfd', '3', '-screen', '0', '1000x700x24'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  })
  const [number] = (await once(screen.stdio[3]!, 'data')) as [Buffer]
  const options = ['allow_remote_control=yes', 'remember_window_size=no', 'enabled_layouts=stack'].flatMap((one) => [
    '-o',
    one,
  ])
  const env = { ...process.env, DISPLAY: `:${number.toString().trim()}`, LIBGL_ALWAYS_SOFTWARE: '1' }
  const kitty = spawn('kitty', ['--config', 'NONE', ...options, '--listen-on', socket, 'sleep', '1000'], {
    env,
    stdio: 'ignore',
  })
  const end = async (): Promise<void> => {
    await ended(kitty)
    await ended(screen)
    rmSync(dir, { recursive: true, force: true })
  }
  const port = new KittyPanes({ socket })
  for (let tries = 0; ; tries += 1) {
    const there = await port.list().catch(() => undefined)
    if (there !== undefined) return { socket, end }
    if (tries === 100) {
      await end()
      throw new Error('kitty did not start')
    }
    await delay(200)
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

describe.skipIf(why !== '')(`kitty${why}`, () => {
  panePortSuite('has panes', async () => {
    const { socket, end } = await startKitty()
    return { port: new KittyPanes({ socket }), end }
  })

  describe('as the place of a terminal', () => {
    let kitty: Kitty

    beforeAll(async () => {
      kitty = await startKitty()
    })

    afterAll(() => kitty.end())

    it('runs commands, and says by which rule they were over', async () => {
      const shell = terminal('shell', {
        command: 'bash',
        args: ['--norc', '--noprofile'],
        env: { PS1: 'go> ' },
        readyPattern: /go> $/,
        in: { mux: 'kitty', socket: kitty.socket },
        timeout: '60s',
      })
      const { output, rule } = await shell.execute('echo one; echo two')
      expect(rule).toBe('stable')
      expect(output).toBe('one\ntwo\ngo> ')
      expect((await shell.screen()).rows).toContain('two')
      await shell.stop()
      expect(await new KittyPanes({ socket: kitty.socket }).list()).toHaveLength(1)
    })
  })
})

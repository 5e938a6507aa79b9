/** The process that had Claude in a terminal is killed: nothing goes on behind anybody's back, and the conversation does. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { workflow } from 'nerve'
import { alive, installed } from '../terminal/open.ts'
import { script } from './scripted-model.ts'
import { CLAUDE, WHY_SKIPPED, openHost, openStage, until } from './stage.ts'

const WORKER = fileURLToPath(new URL('killed-host.ts', import.meta.url))

describe.skipIf(CLAUDE === undefined)(`after kill -9 of the process${WHY_SKIPPED}`, () => {
  for (const place of ['a PTY', 'tmux'] as const)
    it.skipIf(place === 'tmux' && !installed('tmux'))(`the conversation goes on, in ${place}, and alone`, async () => {
      const stage = await openStage()
      const pane = place === 'tmux' ? { in: { mux: 'tmux', project: stage.home } as const } : {}
      const options = { ...stage.options, ...pane, session: randomUUID() }
      // Opened now, so that whatever happens it is also ended.
      const node = stage.open({ ...pane, session: options.session })
      const prompts = [script({ say: 'one' }), script({ drawl: 'two' })]
      const args = ['--conditions=nerve-source', WORKER, JSON.stringify(options), ...prompts]
      const worker = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
      onTestFinished(() => void worker.kill('SIGKILL'))
      const [said] = (await once(worker.stdout, 'data')) as [Buffer]
      const pid = Number(said.toString())
      await until(() => stage.model.drawls() === 1 || undefined, 'the second answer')
      expect(alive(pid)).toBe(true)
      worker.kill('SIGKILL')
      await once(worker, 'exit')
      const host = await openHost()
      const flow = workflow('go-on', (ctx) =>
        ctx.step('turn', (call) => node.execute(script({ say: 'after {prompts}' }), { ask: call.ask, resumed: true })),
      )
      const { text, session } = await (await host.start(flow)).result()
      expect(session).toBe(options.session)
      expect(text).toMatch(/^after [23]$/)
      expect(alive(pid)).toBe(false)
      expect(stage.model.cut()).toBe(1)
      await node.stop()
      expect(readdirSync(tmpdir()).filter((name) => name.includes(options.session))).toEqual([])
    })
})

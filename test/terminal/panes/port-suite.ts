/** What every multiplexer must do. Each implementation of the port runs all of it. */
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PanePort, PaneView } from '../../../src/nodes/panes/pane-port.ts'

export interface PortUnderTest {
  readonly port: PanePort
  /** Ends the multiplexer. */
  readonly end: () => Promise<void>
}

const SHELL = { file: '/bin/sh', args: ['-i'] } as const

export function panePortSuite(name: string, open: () => Promise<PortUnderTest>): void {
  describe(name, () => {
    let under: PortUnderTest
    let port: PanePort
    let dir: string
    let pane: string

    beforeAll(async () => {
      dir = realpathSync(mkdtempSync(join(tmpdir(), 'nerve-port-')))
      under = await open()
      port = under.port
      pane = await port.spawn({ cwd: dir, cols: 90, rows: 24, ...SHELL })
      // What is typed before the prompt is there is shown before it, and what is printed then beside it.
      await until(({ rows }) => /[#$] *$/.test(rows[0] ?? ''))
    })

    afterAll(async () => {
      await under.end()
      rmSync(dir, { recursive: true, force: true })
    })

    /** Looks until it shows what is expected. */
    const until = async (holds: (view: PaneView) => boolean, above = 0): Promise<PaneView> => {
      const deadline = performance.now() + 20_000
      for (;;) {
        const view = await port.look(pane, above)
        if (holds(view)) return view
        if (performance.now() > deadline) throw new Error(`not in time:\n${view.rows.join('\n')}`)
        await delay(20)
      }
    }
    const shown = async (text: string): Promise<readonly string[]> =>
      (await until(({ lines }) => lines.includes(text), 500)).lines

    it('lists a pane that it has made', async () => {
      const found = (await port.list()).find(({ id }) => id === pane)
      expect(found).toMatchObject({
        id: pane,
        cols: expect.any(Number),
        rows: expect.any(Number),
        title: expect.any(String),
      })
      expect(found!.cols).toBeGreaterThan(20)
      expect(found!.rows).toBeGreaterThan(5)
    })

    it('starts programs in their folder', async () => {
      await port.send(pane, 'pwd\r')
      expect(await shown(dir)).toContain(dir)
    })

    it('types exactly what it is given: quotes, words of its own language, characters of any script', async () => {
      await port.send(pane, `printf '%s\\n' 'a;b "c" $HOME \\ #{pane_id} %d' "你好🚀"; echo end\r`)
      expect(await shown('a;b "c" $HOME \\ #{pane_id} %d')).toContain('a;b "c" $HOME \\ #{pane_id} %d')
      expect(await shown('你好🚀')).toContain('你好🚀')
      expect(await shown('end')).toContain('end')
    })

    it('types keys: Ctrl-C interrupts', async () => {
      await port.send(pane, `sh -c 'trap "echo caught; exit" INT; echo begun; while :; do sleep 0.1; done'\r`)
      expect(await shown('begun')).toContain('begun')
      await port.send(pane, '\u0003')
      const { lines } = await until((view) => view.lines.some((line) => line.endsWith('caught')))
      expect(lines.filter((line) => line.endsWith('caught'))).toHaveLength(1)
    })

    it('types more than fits at once, and loses nothing', async () => {
      const lines = Array.from({ length: 400 }, (_, number) => `line ${number} of a longer text ✓`)
      await port.send(pane, `cat >typed; echo typed\r`)
      await port.send(pane, `${lines.join('\r')}\r\u0004`)
      expect(await shown('typed')).toContain('typed')
      expect(readFileSync(join(dir, 'typed'), 'utf8')).toBe(`${lines.join('\n')}\n`)
    })

    it('shows the screen, where the cursor is, and what was scrolled out', async () => {
      await port.send(pane, 'clear; seq 1 200\r')
      const far = await until(({ lines }) => lines.includes('120') && lines.includes('200'), 150)
      expect(far.lines.indexOf('121')).toBe(far.lines.indexOf('120') + 1)
      await port.send(pane, 'clear; printf "ab\\ncd"\r')
      const { rows, cursor } = await until((view) => (view.rows[1] ?? '').startsWith('cd'))
      const [{ rows: height } = { rows: 0 }] = (await port.list()).filter(({ id }) => id === pane)
      expect(rows).toHaveLength(height)
      expect(rows[0]).toBe('ab')
      expect(cursor.row).toBe(1)
      expect(cursor.column).toBeGreaterThan('cd'.length - 1)
    })

    it('shows a pane to the person', async () => {
      const other = await port.spawn({ cwd: dir, cols: 90, rows: 24, ...SHELL })
      await port.focus(pane)
      await expect
        .poll(async () => (await port.list()).find(({ id }) => id === pane)?.active, { timeout: 10_000 })
        .toBe(true)
      await port.kill(other)
    })

    it('ends a pane; one that is gone is no error', async () => {
      const other = await port.spawn({ cwd: dir, cols: 90, rows: 24, ...SHELL })
      await port.kill(other)
      await expect.poll(async () => (await port.list()).some(({ id }) => id === other), { timeout: 10_000 }).toBe(false)
      await port.kill(other)
      await expect(port.look(other, 0)).rejects.toMatchObject({ code: 'pane-failed' })
    })

    it('leaves panes alone when it lets go', async () => {
      await port.close()
      expect((await port.list()).some(({ id }) => id === pane)).toBe(true)
      await port.kill(pane)
    })
  })
}

/** A daemon whose package is upgraded, or gone, while it works. */
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from 'nerve/client'
import { built } from '../built.ts'
import { run, type Running } from '../cli/nerve.ts'
import { stage } from './stage.ts'

/** The package, installed in a place of its own. */
function installed(): string {
  const home = mkdtempSync(join(tmpdir(), 'nerve-installed-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  for (const part of ['dist', 'package.json']) cpSync(built(part), join(home, part), { recursive: true })
  symlinkSync(built('node_modules'), join(home, 'node_modules'), 'junction')
  return home
}

/** After the question, it needs what the daemon has not loaded yet. */
const WORK = `import { workflow } from 'nerve'
export default workflow('work', async (ctx) => {
  await ctx.ask('Go on?')
  const { bash } = await import('nerve/nodes')
  const { graph } = await import('nerve/graph')
  const { stdout } = await ctx.run(graph('inner').step('say', bash('say', { command: 'echo done', effect: 'repeatable' }))).then(({ say }) => say)
  return stdout
})
`

test.for([
  ['is upgraded', (home: string) => replace(join(home, 'dist'))],
  ['is removed', (home: string) => rmSync(join(home, 'dist'), { recursive: true })],
] as const)('a daemon goes on with its own code when its package %s', async ([, upgrade]) => {
  const here = stage({ 'work.ts': WORK })
  onTestFinished(() => here.remove())
  const home = installed()
  const main = join(home, 'dist', 'surfaces', 'cli', 'main.js')
  const daemon: Running = run(
    [process.execPath, main, 'server', 'start', '--foreground', '--dir', here.dir],
    here.dir,
    {
      NERVE_LOCAL: '',
    },
  )
  onTestFinished(() => void daemon.child.kill('SIGKILL'))
  await here.until(() => here.record() !== undefined, 'the daemon')
  const client = await connect(here.record()?.socket ?? '')
  const { run: id } = await client.call('runs.start', { definition: 'work', file: join(here.dir, 'work.ts') })
  const work = client.run(id)
  await work.wait({ until: 'rest' })
  upgrade(home)
  const [question] = await client.questions.list()
  await client.questions.answer(question?.id ?? '', 'yes')
  expect(await work.result()).toBe('done\n')
  await client.close()
  daemon.child.kill('SIGTERM')
  expect((await daemon.ended).code).toBe(0)
})

/** Files of the same names, with other things in them. */
function replace(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    if (name.endsWith('.js')) writeFileSync(join(folder, name), `throw new Error('${name} is of another version')\n`)
}

/** What Claude may do is asked at its screen and in the inbox; whoever is first decides. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openSession } from '../behaviour/session-stage.ts'
import { script, type Act } from './scripted-model.ts'
import { CLAUDE, WHY_SKIPPED, oneTurn, openHost, openStage, press, question, shows, until } from './stage.ts'

const touch = (file: string, ...more: readonly Act[]) =>
  script({ tool: 'Bash', input: { command: `touch ${file}` } }, ...more)

describe.skipIf(CLAUDE === undefined)(`a permission${WHY_SKIPPED}`, () => {
  it('is given and denied from the inbox, and the dialog on the screen closes', async () => {
    const stage = await openStage()
    const node = stage.open()
    const host = await openHost()
    const path = join(stage.cwd, 'note.txt')
    const write = script({ tool: 'Write', input: { file_path: path, content: 'hi' } }, { say: 'It is written.' })
    const run = await host.start(oneTurn(node), write)
    const asked = await question(host, /^Claude wants to use Write: .*note\.txt$/)
    expect(asked).toMatchObject({
      kind: 'permission',
      choices: ['allow', 'allow always', 'deny'],
      detail: { tool: 'Write', input: { file_path: path, content: 'hi' } },
    })
    await shows(node, 'Do you want to create note.txt?')
    expect(existsSync(path)).toBe(false)
    await host.answer(asked.id, 'allow', { by: 'ann' })
    expect((await run.result()).text).toBe('It is written.')
    expect(readFileSync(path, 'utf8')).toBe('hi')
    const again = await host.start(oneTurn(node), touch('other.txt', { say: 'So: {last}' }))
    await host.answer((await question(host, /use Bash: touch other\.txt$/)).id, { deny: 'No other files, please.' })
    expect((await again.result()).text).toBe('So: No other files, please.')
    expect(existsSync(join(stage.cwd, 'other.txt'))).toBe(false)
    const third = await host.start(oneTurn(node), touch('wrong.txt', { say: 'Right.' }))
    await host.answer((await question(host, /touch wrong/)).id, { allow: { command: 'touch right.txt' } })
    expect((await third.result()).text).toBe('Right.')
    expect(['wrong.txt', 'right.txt'].map((file) => existsSync(join(stage.cwd, file)))).toEqual([false, true])
    expect(await host.inbox()).toEqual([])
  })

  it('that is given at the screen leaves the inbox, also while the tool still runs', async () => {
    const stage = await openStage()
    const node = stage.open()
    const host = await openHost()
    const heard: string[] = []
    host.subscribe({ live: false }, ({ type }) => void heard.push(type))
    const go = join(stage.home, 'go')
    const command = `touch begun; until [ -e '${go}' ]; do sleep 0.1; done`
    const run = await host.start(oneTurn(node), script({ tool: 'Bash', input: { command } }, { say: 'It ran.' }))
    await question(host, /use Bash: touch begun/)
    await shows(node, 'Do you want to proceed?')
    await press(node, '1')
    await until(() => heard.includes('question-withdrawn') || undefined, 'an empty inbox')
    expect(heard).not.toContain('step-completed')
    writeFileSync(go, '')
    expect((await run.result()).text).toBe('It ran.')
    expect(heard.filter((type) => type.startsWith('question-'))).toEqual(['question-asked', 'question-withdrawn'])
    expect(await host.inbox()).toEqual([])
  })

  it('that is refused at the screen ends the turn, and the step is interrupted', async () => {
    const stage = await openStage()
    const node = stage.open()
    const host = await openHost()
    const run = await host.start(oneTurn(node), touch('no.txt'))
    await question(host, /touch no\.txt/)
    await shows(node, 'Do you want to proceed?')
    await press(node, '\u001B')
    await expect(run.result()).rejects.toMatchObject({ code: 'run-failed', cause: { code: 'interrupted' } })
    expect(await host.inbox()).toEqual([])
    expect(existsSync(join(stage.cwd, 'no.txt'))).toBe(false)
  })

  it('that is given always is not asked for again', async () => {
    const stage = await openStage()
    const node = stage.open()
    const host = await openHost()
    const input = { command: 'curl -s http://127.0.0.1:1/' }
    const run = await host.start(
      oneTurn(node),
      script({ tool: 'Bash', input }, { tool: 'Bash', input }, { say: 'Twice.' }),
    )
    await host.answer((await question(host, /curl/)).id, 'allow always')
    expect((await run.result()).text).toBe('Twice.')
    const asked = (await host.journal(run.id)).filter(({ event }) => event.type === 'question-asked')
    expect(asked).toHaveLength(1)
  })

  it('is not what the model asks the person: that is a question with the choices of the model', async () => {
    const stage = await openStage()
    const node = stage.open()
    const host = await openHost()
    const options = [
      { label: 'Red', description: 'r' },
      { label: 'Blue', description: 'b' },
    ]
    const input = { questions: [{ question: 'Which colour?', header: 'Colour', multiSelect: false, options }] }
    const run = await host.start(oneTurn(node), script({ tool: 'AskUserQuestion', input }, { say: '{last}' }))
    const asked = await question(host, /^Which colour\?$/)
    expect(asked).toMatchObject({ kind: 'ask', choices: ['Red', 'Blue'] })
    await host.answer(asked.id, 'Blue')
    expect((await run.result()).text).toContain('"Which colour?"="Blue"')
  })

  it('is in the live parts, and a secret in it neither in the question nor in the history', async () => {
    const stage = await openStage()
    const host = await openHost()
    const parts: string[] = []
    host.subscribe({ live: true }, ({ type }) => void (type === 'node-state' || parts.push(type)))
    const session = await openSession(host, { dir: stage.home, nodes: [stage.open()] })
    const secret = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'
    const sent = session.send<{ readonly text: string }>('coder', touch(secret, { say: 'Done.' }))
    const asked = await question(host, /touch/)
    expect(JSON.stringify(asked)).not.toContain(secret)
    await host.answer(asked.id, 'allow')
    expect((await sent).text).toBe('Done.')
    expect(existsSync(join(stage.cwd, secret))).toBe(true)
    expect(parts).toEqual(['prompt', 'tool-start', 'permission', 'tool-end', 'stop'])
    const { entries } = await session.history('coder')
    const history = JSON.stringify(entries)
    expect(history).toContain('Done.')
    expect(history).not.toContain(secret)
    expect(history).not.toContain(stage.key)
  })
})

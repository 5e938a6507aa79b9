/** Prompts, interrupts, ends and conversations that go on, with the real Claude Code. */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createNodeFactory, nodeFactory } from 'nerve/sessions'
import { script } from './scripted-model.ts'
import { CLAUDE, WHY_SKIPPED, oneTurn, openHost, openStage, rejection, shows, until } from './stage.ts'

const folders = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith(`nerve-claude-${process.pid}-`))

describe.skipIf(CLAUDE === undefined)(`Claude in a terminal${WHY_SKIPPED}`, () => {
  it('answers prompts in one conversation, and says what they cost', async () => {
    const stage = await openStage()
    const node = stage.open()
    const host = await openHost()
    const first = await (await host.start(oneTurn(node), script({ say: 'Hello. {prompts}' }))).result()
    expect(first).toMatchObject({
      text: 'Hello. 1',
      rule: 'hook',
      session: node.session,
      sections: [{ type: 'text', text: 'Hello. 1', turn: 1 }],
      usage: { tokens: 110, calls: 1 },
    })
    const second = await node.execute(`Two lines,\n\tthe second of them:\n${script({ say: 'Hello again. {prompts}' })}`)
    expect(second).toMatchObject({ text: 'Hello again. 2', session: node.session })
    expect(node.state).toBe('ready')
    expect(folders()).toHaveLength(1)
    await node.stop()
    expect(node.state).toBe('stopped')
    expect(folders()).toEqual([])
    expect(await rejection(node.execute('more'))).toMatchObject({ code: 'terminal-ended' })
  })

  it('does not take a prompt for a shell command, and types nothing while somebody else does', async () => {
    const stage = await openStage()
    const node = stage.open()
    const parts: string[] = []
    await node.start()
    node.takeOver('ann')
    const emit = (type: string): void => void parts.push(type)
    const turn = node.execute(`!touch made; ${script({ say: 'A prompt.' })}`, { emit })
    await until(() => parts.includes('waiting') || undefined, 'waiting for ann')
    await node.write('half a', 'ann')
    await shows(node, 'half a')
    node.handBack('ann')
    expect((await turn).text).toBe('A prompt.')
    expect(parts).toEqual(['waiting', 'prompt', 'stop'])
    expect(existsSync(join(stage.cwd, 'made'))).toBe(false)
  })

  it('is interrupted by its node and by its step, really stops, and goes on with the next prompt', async () => {
    const stage = await openStage()
    const node = stage.open()
    const host = await openHost()
    const turn = node.execute(script({ drawl: 'Once upon' }))
    await until(() => stage.model.drawls() === 1 || undefined, 'the first answer')
    await node.interrupt()
    expect(await rejection(turn)).toMatchObject({ code: 'interrupted' })
    expect(stage.model.cut()).toBe(1)
    const run = await host.start(oneTurn(node), script({ drawl: 'A second time' }))
    await until(() => stage.model.drawls() === 2 || undefined, 'the second answer')
    await run.interrupt()
    expect(await rejection(run.result())).toMatchObject({ code: 'run-failed', cause: { code: 'interrupted' } })
    await until(() => stage.model.cut() === 2 || undefined, 'the end of the second answer')
    const typed = node.execute(script({ drawl: 'Third' }))
    await until(() => stage.model.drawls() === 3 || undefined, 'the third answer')
    await node.write('\u001B')
    expect(await rejection(typed)).toMatchObject({ code: 'interrupted' })
    expect(await rejection(node.execute({ prompt: script({ drawl: 'Fourth' }), timeout: '1s' }))).toMatchObject({
      code: 'timeout',
    })
    expect((await node.execute(script({ say: 'Here.' }))).text).toBe('Here.')
  })

  it('reads the end of a turn off the screen where hooks are forbidden', async () => {
    const stage = await openStage()
    const node = stage.open({ settings: { disableAllHooks: true } })
    const result = await node.execute(script({ say: 'Look at {prompts} screen.' }))
    expect(result).toMatchObject({ rule: 'screen', text: 'Look at 1 screen.', session: node.session })
  })

  it('says why when the model refuses', async () => {
    const stage = await openStage()
    const error = await rejection(stage.open().execute(script({ fail: 400 })))
    expect(error).toMatchObject({ code: 'agent-failed', message: expect.stringContaining('It may not.') as string })
  })

  it('fails a step whose process is killed, and resumes the conversation with the next one', async () => {
    const stage = await openStage()
    const node = stage.open()
    expect((await node.execute(script({ say: '{prompts}' }))).text).toBe('1')
    const turn = node.execute(script({ drawl: 'Once upon' }))
    await until(() => stage.model.drawls() === 1 || undefined, 'the answer')
    process.kill(node.info().pid ?? 0, 'SIGKILL')
    expect(await rejection(turn)).toMatchObject({ code: 'terminal-ended', data: { exitCode: 137 } })
    expect(node.state).toBe('stopped')
    const next = await node.execute(script({ say: '{prompts}' }))
    // What was cut off may or may not have been written down.
    expect(next).toMatchObject({ text: expect.stringMatching(/^[23]$/) as string, session: node.session })
  })

  it('goes on with the same conversation in a node that is made again, and alone', async () => {
    const stage = await openStage()
    const node = stage.open()
    await node.execute(script({ say: 'one' }))
    const again = stage.open({ session: String(node.info().config['session']) }, 'again')
    expect(await rejection(again.start())).toMatchObject({ code: 'not-ready', data: { session: node.session } })
    await node.stop()
    const { text } = await again.execute(script({ say: '{prompts}' }), { resumed: true })
    expect(text).toBe('2')
    await shows(again, 'You were cut off')
    const copy = again.fork('copy')
    expect((await copy.execute(script({ say: '{prompts}' }))).text).toBe('3')
    expect(copy.session).not.toBe(again.session)
    expect((await again.execute(script({ say: '{prompts}' }))).text).toBe('3')
    expect(copy.info()).toMatchObject({ forkedFrom: 'again', config: { copyOf: again.session } })
    await copy.stop()
  })

  it('can be made from data, and is recorded with its conversation', async () => {
    const stage = await openStage()
    const node = await nodeFactory.create({ kind: 'claude-terminal', id: 'coder', cwd: stage.cwd, command: 'claude' })
    const { session } = node.info() as unknown as { readonly session: string }
    const recorded = nodeFactory.recorded(node)
    expect(recorded?.config).toMatchObject({ kind: 'claude-terminal', id: 'coder', session })
    expect(createNodeFactory().recorded(node)).toBeUndefined()
  })

  it('explains what is missing', async () => {
    const stage = await openStage()
    const { command: _, ...options } = stage.options
    const { claudeTerminal } = await import('nerve/claude-terminal')
    const lost = claudeTerminal('lost', { ...options, env: { ...options.env, PATH: stage.home } })
    expect(await rejection(lost.start())).toMatchObject({
      code: 'package-missing',
      data: { install: 'npm install --global @anthropic-ai/claude-code' },
    })
    expect(lost.state).toBe('error')
    const untrusted = stage.open({ cwd: stage.home, startTimeout: '2s' })
    expect(await rejection(untrusted.start())).toMatchObject({
      code: 'not-ready',
      message: expect.stringMatching(/safety check|trust/) as string,
    })
    expect(untrusted.info().pid).toBeUndefined()
    expect(folders()).toEqual([])
  })

  it('leaves nothing secret behind', async () => {
    const stage = await openStage()
    const node = stage.open()
    const host = await openHost()
    const run = await host.start(oneTurn(node), script({ say: 'done' }))
    await until(() => folders()[0], 'the settings')
    const settings = readFileSync(join(tmpdir(), folders()[0] ?? '', 'settings.json'), 'utf8')
    const token = /\/hooks\/([0-9a-f]{64})/.exec(settings)?.[1] ?? 'none'
    await run.result()
    const journal = JSON.stringify(await host.journal(run.id))
    for (const secret of [token, stage.key]) {
      expect(journal).not.toContain(secret)
      expect(JSON.stringify(node.info())).not.toContain(secret)
    }
    await node.stop()
    expect(folders()).toEqual([])
  })
})

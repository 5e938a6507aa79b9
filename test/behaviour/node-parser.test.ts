/** Nodes made as data may have a parser: it is used by the steps that have none of their own. */
import { describe, expect, it } from 'vitest'
import { graph } from 'nerve/graph'
import { nodeFactory } from 'nerve/sessions'
import { openSession } from './session-stage.ts'
import { openStage, rejection } from './stage.ts'

const SCREEN = `printf '%s\\n' '● Write(notes.md)' '  ⎿  Wrote 1 line to notes.md' '' '● The file is written.'`
const config = { kind: 'bash', id: 'screen', command: SCREEN, parser: 'claude' }

describe('a node with a parser', () => {
  it('gives what the screen says, unless a step parses by itself', async () => {
    const { host } = await openStage()
    const session = await openSession(host, { nodes: [config] })
    const sections = [{ type: 'tool' }, { type: 'text', text: 'The file is written.' }]
    expect(await session.send('screen')).toMatchObject({ sections })
    expect(await session.send(await session.fork('screen'))).toMatchObject({ sections })
    const flow = graph('flow')
      .step('parsed', 'screen', {})
      .step('raw', 'screen', { parser: (output: unknown) => Object.keys(output as object) })
    const { parsed, raw } = await (await host.start(flow)).result()
    expect(parsed).toMatchObject({ sections })
    expect(raw).toContain('stdout')
    expect(session.node('screen').info().config).toMatchObject({ parser: 'claude' })
  })

  it('refuses one that is not known', async () => {
    expect(await rejection(nodeFactory.create({ ...config, parser: 'cloude' }))).toMatchObject({
      message: expect.stringContaining(`Did you mean 'claude'?`),
    })
    expect(await rejection(nodeFactory.create({ kind: 'identity', id: 'same', parser: 'claude' }))).toMatchObject({
      message: expect.stringContaining(`has no option 'parser'`),
    })
  })
})

import { describe, expect, it } from 'vitest'
import type { AgentPart } from './adapter.ts'
import { Sum } from './sum.ts'
import { toolKinds } from './tool-kinds.ts'
import { TurnParts, untilDone, type Parts } from './turn-parts.ts'

async function all(parts: Parts): Promise<readonly AgentPart[]> {
  const seen: AgentPart[] = []
  for await (const part of parts) seen.push(part)
  return seen
}

const sent = async (): Promise<void> => undefined

describe('the parts of a turn', () => {
  it('end once, and what comes after is nobody’s', async () => {
    const turn = new TurnParts()
    turn.say('before')
    const parts = turn.begin(sent)
    turn.say('a')
    turn.say('b')
    turn.end('done')
    turn.say('after')
    turn.fail('too late')
    expect(turn.going).toBe(false)
    expect(await all(parts)).toEqual([
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
      { type: 'turn-end', reason: 'done', text: 'ab' },
    ])
  })

  it('have each tool start and end once, and count what is tried again', async () => {
    const turn = new TurnParts()
    const parts = turn.begin(sent)
    for (const output of ['one', { two: 2 }]) {
      turn.toolStart('1', 'sh', {})
      turn.toolEnd('1', true, output)
      turn.retry('busy')
    }
    turn.spent({ input: 1, used: 3, size: 2 })
    turn.end('done')
    expect(await all(parts)).toEqual([
      { type: 'tool-start', id: '1', tool: 'sh', input: {} },
      { type: 'tool-end', id: '1', ok: true, output: 'one' },
      { type: 'retry', attempt: 1, message: 'busy' },
      { type: 'retry', attempt: 2, message: 'busy' },
      { type: 'usage', usage: { input: 1, window: 1 } },
      { type: 'turn-end', reason: 'done', text: '' },
    ])
  })

  it('have text of a tool also when it said nothing, or something else than text', async () => {
    const turn = new TurnParts()
    const parts = turn.begin(sent)
    for (const [at, output] of [undefined, null, '', { two: 2 }].entries()) turn.toolEnd(`${at}`, true, output)
    turn.end('done')
    const said = (await all(parts)).flatMap((part) => (part.type === 'tool-end' ? [part.output] : []))
    expect(said).toEqual(['', '', '', '{"two":2}'])
  })

  it('end with what could not be sent; but not with that of the turn before', async () => {
    const turn = new TurnParts()
    const late = Promise.withResolvers<void>()
    const first = turn.begin(() => late.promise)
    const second = turn.begin(async () => {
      throw new Error('429 Too Many Requests')
    })
    late.reject(new Error('of the first'))
    expect(await all(first)).toEqual([{ type: 'turn-end', reason: 'interrupted', text: '' }])
    const error = '429 Too Many Requests'
    expect(await all(second)).toEqual([{ type: 'turn-end', reason: 'rate-limited', text: '', error }])
    const third = turn.begin(sent, () => turn.end('limit'))
    await expect(untilDone(third)).rejects.toThrow('limit')
  })

  it('tell whether a call is alone, when all of the message is said that it is in', async () => {
    const turn = new TurnParts()
    turn.begin(sent)
    turn.messageBegan()
    turn.toolStart('1', 'shell', { command: 'a' })
    const alone = turn.isAlone()
    turn.toolStart('2', 'shell', { command: 'b' })
    turn.messageEnded()
    expect(await alone).toBe(false)
    turn.toolEnd('1', true)
    expect(await turn.isAlone()).toBe(true)
    turn.messageBegan()
    const asked = turn.isAlone()
    turn.end('interrupted')
    expect(await asked).toBe(true)
  })

  it('tell the id of a call once, also of two that are the same', () => {
    const turn = new TurnParts()
    turn.begin(sent)
    for (const id of ['1', '2', '1']) turn.toolStart(id, 'shell', { command: 'a' })
    turn.toolStart('3', 'shell', { command: 'b' })
    const ids = ['a', 'b', 'a', 'a'].map((command) => turn.idOf('shell', { command }))
    expect(ids).toEqual(['1', '3', '2', undefined])
  })

  it('end after what has to be done before, or fail with it', async () => {
    const turn = new TurnParts()
    const first = turn.begin(sent)
    await turn.endAfter(Promise.resolve(), 'deferred')
    expect(await all(first)).toMatchObject([{ reason: 'deferred' }])
    const second = turn.begin(sent)
    await turn.endAfter(Promise.reject(new Error('the disk is full')), 'deferred')
    expect(await all(second)).toMatchObject([{ reason: 'error', error: 'the disk is full' }])
  })
})

it('a sum tells what was added, and never less than nothing', () => {
  const sum = new Sum()
  expect([sum.added(10, 4), sum.added(15, 0), sum.added(12, 0)]).toEqual([4, 5, 0])
})

it('a tool has the kind that its agent gives it', () => {
  const kindOf = toolKinds({ shell: 'Bash KillShell', mcp: 'mcp__*' })
  expect(['Bash', 'KillShell', 'mcp__a__b', 'Bas'].map(kindOf)).toEqual(['shell', 'shell', 'mcp', 'other'])
})

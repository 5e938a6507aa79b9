/** What an agent over ACP says in pieces is put together: the last that it said, and what a call is about. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { acpAgent, type AgentTurnEnd, type PermissionRequest } from 'nerve/agents'

let cwd: string

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'nerve-acp-'))
  return () => rmSync(cwd, { recursive: true, force: true })
})

/** A program that says the updates of a session, asks for what is a `request` among them, and ends its turn. */
function program(said: readonly object[]): string {
  const file = join(cwd, 'program')
  const script = `#!${process.execPath}
const { createInterface } = require('node:readline')
const said = ${JSON.stringify(said)}
const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }))
let prompt
const goOn = () => {
  for (let one = said.shift(); one !== undefined; one = said.shift()) {
    if (one.request !== undefined) return say({ id: 'asked', method: 'session/request_permission', params: { toolCall: one.request, options: [] } })
    say({ method: 'session/update', params: { update: one } })
  }
  say({ id: prompt, result: { stopReason: 'end_turn' } })
}
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  if (method === 'session/prompt') prompt = id
  if (method === 'session/prompt' || id === 'asked') goOn()
  else say({ id, result: { sessionId: 'one' } })
})
`
  writeFileSync(file, script, { mode: 0o755 })
  return file
}

async function turn(...said: readonly object[]): Promise<{ end: AgentTurnEnd; asked: readonly PermissionRequest[] }> {
  const asked: PermissionRequest[] = []
  const session = await acpAgent({ name: 'acp', command: program(said) }).open({
    cwd,
    env: {},
    started: () => undefined,
    permission: async (request) => {
      asked.push(request)
      return { allow: true }
    },
    question: async () => ({ refused: 'nobody is here' }),
  })
  onTestFinished(() => session.close())
  for await (const part of session.prompt('Go on.')) if (part.type === 'turn-end') return { end: part, asked }
  throw new Error('The turn has no end.')
}

const chunk = (text: string) => ({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
const call = { sessionUpdate: 'tool_call', toolCallId: 'a', title: 'look', kind: 'other' }

describe('the text of a turn', () => {
  it('is what was said after the last call', async () => {
    const { end } = await turn(chunk('Let me '), chunk('look.'), call, chunk('ACCEP'), chunk('TED'))
    expect(end.text).toBe('ACCEPTED')
  })

  it('is what was said before it, when nothing was said since', async () => {
    expect((await turn(chunk('I am '), chunk('done.'), call)).end.text).toBe('I am done.')
  })
})

describe('a request', () => {
  it('names the files that it is about, wherever they were told', async () => {
    const { asked } = await turn(
      { ...call, sessionUpdate: 'tool_call_update', kind: 'read', locations: [{ path: '/a' }], rawInput: { limit: 3 } },
      { request: { toolCallId: 'a', title: 'read', kind: 'read', locations: [], rawInput: {} } },
      {
        request: {
          toolCallId: 'b',
          title: 'Writing',
          kind: 'edit',
          content: [{ type: 'diff', path: '/b', newText: 'x' }],
        },
      },
      { request: { toolCallId: 'c', title: 'make test', kind: 'execute' } },
    )
    expect(asked.map(({ kind, input }) => [kind, input])).toEqual([
      ['read', { limit: 3, paths: ['/a'] }],
      ['edit', { title: 'Writing', content: [{ type: 'diff', path: '/b', newText: 'x' }], paths: ['/b'] }],
      ['shell', { command: 'make test' }],
    ])
  })
})

/** Recording and replaying: across formats, without secrets, strict, and clear about what is missing. */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { provider, record, replay, scripted, type Backend } from 'nerve/gateway'
import { until } from '../behaviour/stage.ts'
import { ask, json, openGateway, readStream, temporaryFolder } from './house.ts'
import { fakeUpstream, MESSAGE, sendJson, sendStream } from './upstream.ts'

const text = async (response: Response): Promise<string> => (await json(response)).content[0].text

/** Says how often it was asked. */
function counting(): Backend {
  let asked = 0
  return scripted(() => ({ say: `reply ${(asked += 1)}` }))
}

describe('a recording', () => {
  it('answers as it was recorded, repeated requests in their order, whatever the format', async () => {
    const folder = temporaryFolder()
    const recording = await openGateway({ backend: record({ backend: counting(), folder }) })
    await recording.post('/v1/messages', ask('first'))
    await recording.post('/v1/messages', ask('again'))
    await readStream(await recording.post('/v1/messages', ask('again', { stream: true })))
    const replaying = await openGateway({ backend: replay({ folder }) })
    expect(await text(await replaying.post('/v1/messages', ask('again')))).toBe('reply 2')
    expect(await text(await replaying.post('/v1/messages', ask('first', { metadata: { user_id: 'another' } })))).toBe(
      'reply 1',
    )
    expect((await readStream(await replaying.post('/v1/messages', ask('again', { stream: true })))).text).toBe(
      'reply 3',
    )
    const used = await replaying.post('/v1/messages', ask('again'))
    expect([used.status, (await used.text()).includes('recorded 2 times')]).toEqual([404, true])
    const chat = await openGateway({ backend: replay({ folder }) })
    const body = { model: 'scripted', max_tokens: 100, messages: [{ role: 'user', content: 'first' }] }
    expect(await (await chat.post('/v1/chat/completions', body)).json()).toMatchObject({
      choices: [{ message: { content: 'reply 1' } }],
    })
  })

  it('is made of what passes by, at once or as a stream, and of failures', async () => {
    const folder = temporaryFolder()
    const upstream = await fakeUpstream((response, { body }) => {
      if (body.includes('fail'))
        sendJson(response, { type: 'error', error: { type: 'not_found_error', message: 'no such model' } }, 404)
      else if (body.includes('stream')) sendStream(response, 'a ', 'b')
      else sendJson(response, MESSAGE)
    })
    const backend = provider('up', { url: upstream.url, format: 'anthropic', retries: 0 })
    const recording = await openGateway({ backend: record({ backend, folder }) })
    const asked = [ask('hi'), ask('hi', { stream: true }), ask('fail')]
    const bodies = []
    for (const body of asked) bodies.push(await (await recording.post('/v1/messages', body)).text())
    expect(bodies[1]).toContain('"a "')
    const replaying = await openGateway({ backend: replay({ folder }) })
    expect(await (await replaying.post('/v1/messages', ask('hi'))).json()).toMatchObject({
      content: MESSAGE.content,
      usage: MESSAGE.usage,
    })
    expect((await readStream(await replaying.post('/v1/messages', ask('hi', { stream: true })))).text).toBe('a b')
    const failed = await replaying.post('/v1/messages', ask('fail'))
    expect([failed.status, await failed.json()]).toMatchObject([404, { error: { message: 'no such model' } }])
    expect(recording.problems).toEqual([])
  })

  it('has no secrets, and is found all the same', async () => {
    const folder = temporaryFolder()
    const secret = 'sk-ant-api03-abcdefghij0123456789'
    const body = ask(`my key is ${secret}`, { tools: [{ name: 'login', input_schema: { type: 'object' } }] })
    const say = `I will not tell ${secret}`
    const recording = await openGateway({ backend: record({ backend: scripted({ rules: [{ say }] }), folder }) })
    await recording.post('/v1/messages', body)
    const [file = ''] = readdirSync(folder)
    expect(readFileSync(join(folder, file), 'utf8')).not.toContain(secret)
    const replaying = await openGateway({ backend: replay({ folder }) })
    expect(await text(await replaying.post('/v1/messages', body))).toBe('I will not tell [redacted]')
  })

  it('is not made of a call that the client broke off', async () => {
    const folder = temporaryFolder()
    const backend = scripted({ rules: [{ say: 'a long text', stream: { chunk: 1, delay: '1h' } }] })
    const recording = await openGateway({ backend: record({ backend, folder }) })
    const leaving = new AbortController()
    await recording.post('/v1/messages', ask('hi', { stream: true }), { signal: leaving.signal })
    leaving.abort()
    await until(() => recording.log.recent.length === 1)
    expect(readdirSync(folder)).toEqual([])
  })
})

describe('a miss', () => {
  it('fails, and shows where the nearest recording differs', async () => {
    const folder = temporaryFolder()
    const recording = await openGateway({ backend: record({ backend: counting(), folder }) })
    await recording.post('/v1/messages', ask('today is Monday, fix it', { system: 'Be brief.' }))
    await recording.post('/v1/messages', ask('something else', { system: 'Be long.', temperature: 1 }))
    const replaying = await openGateway({ backend: replay({ folder }) })
    const miss = await replaying.post('/v1/messages', ask('today is Tuesday, fix it', { system: 'Be brief.' }))
    expect(miss.status).toBe(404)
    const { error } = (await miss.json()) as { error: { message: string } }
    expect(error.message).toContain(
      'messages[0].parts[0].text: recorded "today is Monday, fix it", asked "today is Tuesday, fix it"',
    )
    expect(error.message).not.toContain('temperature')
    const empty = await openGateway({ backend: replay({ folder: temporaryFolder() }) })
    expect(await (await empty.post('/v1/messages', ask('hi'))).text()).toContain('Nothing is recorded')
  })

  it('is none when what differs is normalised, or when somebody else answers', async () => {
    const folder = temporaryFolder()
    const normalise = (given: string): string => given.replaceAll(/Monday|Tuesday/g, 'DAY')
    const recording = await openGateway({ backend: record({ backend: counting(), folder, normalise }) })
    await recording.post('/v1/messages', ask('it is Monday'))
    const replaying = await openGateway({
      backend: replay({ folder, normalise, otherwise: scripted({ rules: [{ say: 'other' }] }) }),
    })
    expect(await text(await replaying.post('/v1/messages', ask('it is Tuesday')))).toBe('reply 1')
    expect(await text(await replaying.post('/v1/messages', ask('unknown')))).toBe('other')
  })

  it('of files that are no recordings is said', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, '0123456789abcdef-1.json'), '{"version":1}')
    const house = await openGateway({ backend: replay({ folder }) })
    const response = await house.post('/v1/messages', ask('hi'))
    expect([response.status, await response.text()]).toEqual([
      500,
      expect.stringContaining('no recording of an exchange'),
    ])
  })
})

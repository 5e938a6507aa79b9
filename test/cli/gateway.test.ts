/** `nerve gateway`: real processes, called by real requests. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { jsonLines, project, type Project } from './nerve.ts'

const SCRIPT = `
rules:
  - when: { user: hello }
    say: Hello from the script
`
const SECRET = 'sk-ant-api03-abcdefghij0123456789'

let here: Project
beforeEach(() => (here = project({ 'script.yaml': SCRIPT, 'bad.yaml': 'rules:\n  - sya: hi\n' })))
afterEach(() => here.remove())

interface Started {
  readonly url: string
  readonly token: string
  readonly stop: () => Promise<number | null>
}

async function start(args: readonly string[], env?: NodeJS.ProcessEnv): Promise<Started> {
  const { child, shown, ended } = here.start(['gateway', 'start', '--json', ...args], env)
  const { url, token } = JSON.parse(await shown('\n')) as Started
  return {
    url,
    token,
    stop: async () => {
      child.kill('SIGINT')
      return (await ended).code
    },
  }
}

function ask({ url, token }: Started, text: string): Promise<Response> {
  const body = { model: 'claude-opus-4-5', max_tokens: 10, messages: [{ role: 'user', content: text }] }
  return fetch(`${url}/v1/messages`, { method: 'POST', headers: { 'x-api-key': token }, body: JSON.stringify(body) })
}

describe('gateway start', () => {
  test('answers from a script until Ctrl-C, and is seen meanwhile and after', async () => {
    const { nerve } = here
    const token = 'a-token-that-is-long-enough'
    const gateway = await start(['--script', 'script.yaml'], { NERVE_GATEWAY_TOKEN: token })
    expect(gateway.token).toBe(token)
    expect(await (await ask(gateway, `hello, my key is ${SECRET}`)).json()).toMatchObject({
      content: [{ text: 'Hello from the script' }],
    })
    expect((await ask(gateway, 'unknown')).status).toBe(400)
    const status = await nerve(['gateway', 'status'])
    expect(status.out).toContain(`${gateway.url}  0 open`)
    expect(status.out).toContain('script.yaml')
    expect(await gateway.stop()).toBe(0)
    expect((await nerve(['gateway', 'status'])).out).toContain('No gateway runs')
    const { out } = await nerve(['gateway', 'log'])
    expect(out).toMatch(/^\w{16} {2}\d{4}-.* claude-opus-4-5 +200 .* in, \d+ out, \$0\.\d+\n.* 400 bad-request .*\n$/)
    const lines = jsonLines((await nerve(['gateway', 'log', '--json'])).out)
    expect(lines).toMatchObject([
      { status: 200, format: 'anthropic' },
      { status: 400, failure: { kind: 'bad-request' } },
    ])
    const shown = await nerve(['gateway', 'show', lines[0].id.slice(0, 15)])
    expect(shown.out).toContain('hello, my key is [redacted]')
    expect(shown.out).toContain('Hello from the script')
    expect(JSON.parse((await nerve(['gateway', 'show', 'last', '--json'])).out)).toMatchObject({ status: 400 })
    expect(here.read('.nerve/.gitignore')).toBe('*\n')
  })

  test('records, and replays', async () => {
    const recording = await start(['--script', 'script.yaml', '--record', 'calls'])
    await (await ask(recording, 'hello')).text()
    await recording.stop()
    const replaying = await start(['--replay', 'calls'])
    expect(await (await ask(replaying, 'hello')).json()).toMatchObject({ content: [{ text: 'Hello from the script' }] })
    expect(await (await ask(replaying, 'Hello')).text()).toContain('recorded \\"hello\\", asked \\"Hello\\"')
    expect(await replaying.stop()).toBe(0)
  })

  test('tells people how to point agents at it, and never a key', async () => {
    const { child, shown, ended } = here.start(['gateway', 'start', '--provider', 'anthropic'], {
      ANTHROPIC_API_KEY: SECRET,
    })
    const out = await shown('Ctrl-C')
    expect(out).toMatch(/Claude Code +ANTHROPIC_BASE_URL=http:\/\/127\.0\.0\.1:\d+ ANTHROPIC_API_KEY=nerve-\w+/)
    expect(out).not.toContain(SECRET)
    child.kill('SIGTERM')
    expect((await ended).code).toBe(0)
  })

  test('says what is wrong', async () => {
    const { nerve, has } = here
    const wrong = async (...args: string[]): Promise<string> => {
      const { code, err } = await nerve(['gateway', ...args], { env: { ANTHROPIC_API_KEY: '' } })
      expect(code).not.toBe(0)
      return err
    }
    expect(await wrong('start')).toContain('Give one of --script FILE')
    expect(await wrong('start', '--script', 'bad.yaml')).toContain('rules[0].sya is unknown (did you mean say?)')
    expect(await wrong('start', '--script', 'none.yaml')).toContain('could not be read')
    expect(await wrong('start', '--replay', 'none')).toContain('There is no folder')
    expect(await wrong('start', '--provider', 'anthropic')).toContain('ANTHROPIC_API_KEY is not set')
    expect(await wrong('start', '--script', 'script.yaml', '--model', 'm')).toContain('--model: only with --provider')
    expect(await wrong('show', 'nope')).toContain('no exchange nope')
    expect(has('.nerve')).toBe(false)
  })
})

/** What is given to a node as a variable or a header is written nowhere: not into the journal, a history, or an error. */
import { readFileSync, readdirSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { createHost, workflow, type Host, type Node } from 'nerve'
import { bash, http, type BashOptions } from 'nerve/nodes'
import { terminal, type TerminalOptions } from 'nerve/terminal'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openSession, temporary } from './session-stage.ts'

/** Nothing that a form of a key would match: it must stay out by itself. */
const SECRET = 'plain moss number eleven'

async function open(): Promise<{ host: Host; dir: string }> {
  const dir = temporary()
  const host = await createHost({ dir })
  onTestFinished(() => host.close())
  return { host, dir }
}

/** Every file below a folder that holds the secret. */
function holding(dir: string): string[] {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  expect(files.length).toBeGreaterThan(0)
  return files.map((entry) => join(entry.parentPath, entry.name)).filter((file) => readFileSync(file).includes(SECRET))
}

/** Runs it in a step, and gives what became of it in the words of whoever prints errors. */
async function outcome<Input, Output>(host: Host, node: Node<Input, Output>, input: Input): Promise<string> {
  const run = await host.start(workflow('one', async (ctx): Promise<unknown> => ctx.run(node, input)))
  const told = await run.result().then(
    (output) => inspect(output, { depth: 10 }),
    (error: unknown) => `${inspect(error, { depth: 10, showHidden: true })}${JSON.stringify(error)}`,
  )
  return told + inspect(node.info(), { depth: 10 }) + JSON.stringify(node.info())
}

describe('the variables of a command', () => {
  const ends: readonly (readonly [string, BashOptions<string>, string])[] = [
    ['a success', {}, 'test -n "$MOSS" && echo fine'],
    ['a failure', {}, 'echo no >&2; exit 3'],
    ['a shell that is missing', { shell: 'no-such-shell' }, 'true'],
    ['a folder that is missing', { cwd: '/no/such/folder' }, 'true'],
    ['a time-out', { timeout: '200ms' }, 'sleep 100'],
    ['more than the system takes', { env: { MOSS: SECRET.repeat(200_000) } }, 'true'],
  ]
  it.each(ends)('stay out of %s', async (_name, options, command) => {
    const { host, dir } = await open()
    const { command: _none, ...rest } = options
    const told = await outcome(host, bash('given', { env: { MOSS: SECRET }, ...rest }), command)
    expect(told).not.toContain(SECRET)
    await host.close()
    expect(holding(dir)).toEqual([])
  })

  it('are in the journal when the command prints them: its output is kept as it is', async () => {
    const { host, dir } = await open()
    expect(await outcome(host, bash('tells', { env: { MOSS: SECRET } }), 'echo "$MOSS"')).toContain(SECRET)
    await host.close()
    expect(holding(dir)).not.toEqual([])
  })
})

describe('the variables of a terminal', () => {
  const ends: readonly (readonly [string, TerminalOptions, string])[] = [
    ['a success', { command: 'bash' }, 'test -n "$MOSS" && echo fine'],
    ['a program that is missing', { command: 'no-such-program' }, 'true'],
    ['a folder that is missing', { command: 'bash', cwd: '/no/such/folder' }, 'true'],
    ['a program that ends at once', { command: 'sh', args: ['-c', 'exit 3'] }, 'true'],
  ]
  it.each(ends)('stay out of %s', async (_name, options, line) => {
    const { host, dir } = await open()
    const shell = terminal('given', { env: { MOSS: SECRET }, ...options })
    onTestFinished(() => shell.stop())
    expect(await outcome(host, shell, line)).not.toContain(SECRET)
    await host.close()
    expect(holding(dir)).toEqual([])
  })
})

describe('the headers of a request', () => {
  it('stay out of answers and failures, also when the server repeats them', async () => {
    const server: Server = createServer((request, response) => {
      response.statusCode = request.url === '/fail' ? 500 : 200
      response
        .setHeader('set-cookie', 'a=b')
        .end(request.url === '/fail' ? `no: ${String(request.headers['x-token'])}` : 'fine')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const { host, dir } = await open()
    const headers = { 'x-token': SECRET }
    for (const path of ['fine', 'fail']) {
      const node = http('given', { url: `http://127.0.0.1:${port}/${path}`, headers })
      expect(await outcome(host, node, undefined)).not.toContain(SECRET)
    }
    const nobody = http('given', { url: `http://127.0.0.1:9/${path(SECRET)}?token=${path(SECRET)}`, headers })
    const told = await outcome(host, nobody, undefined)
    expect(told).not.toContain(SECRET)
    expect(told).not.toContain('token=')
    await host.close()
    expect(holding(dir)).toEqual([])
  })
})

const path = (text: string): string => encodeURIComponent(text)

describe('a session', () => {
  it('writes neither into its record nor into a history what its nodes were given', async () => {
    const { host, dir } = await open()
    const env = { MOSS: SECRET }
    const session = await openSession(host, {
      nodes: [
        terminal('sh', { command: 'bash', env }),
        bash('cmd', { env }),
        // A description is recorded, because the node is made of it again; what is named like a secret is not.
        { kind: 'terminal', id: 'described', command: 'bash', env: { DEPLOY_TOKEN: SECRET } },
      ],
    })
    await session.send('sh', 'test -n "$MOSS" && echo fine')
    await session.send('described', 'test -n "$DEPLOY_TOKEN" && echo fine')
    await session.send('cmd', 'test -n "$MOSS" && echo fine')
    await session.send('cmd', 'exit 3').catch(() => undefined)
    expect(JSON.stringify(session)).not.toContain(SECRET)
    await session.close()
    await host.close()
    expect(holding(dir)).toEqual([])
  })
})

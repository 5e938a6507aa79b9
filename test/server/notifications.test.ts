/** People outside of Nerve hear of what needs them: once, in order, signed, and also after a crash. */
import { fork, type ChildProcess } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHost, workflow, type Host } from 'nerve'
import { createService, startNotifications, verifyWebhook, type NotificationOptions } from 'nerve/server'
import { webhookReceiver, type Received } from './webhook-receiver.ts'

const SECRET = 'a-secret-of-the-tests'
const PATIENCE = { timeout: 10_000, interval: 10 }

const hello = workflow('hello', async (ctx, name: string) => ctx.step('greet', () => `Hello ${name}`))
const failing = workflow('failing', async (ctx) => ctx.step('bad', () => Promise.reject(new Error('no luck'))))
const asking = workflow('asking', (ctx) => ctx.ask('Publish?', { choices: ['yes', 'no'] }))
const parent = workflow('parent', (ctx) => ctx.child(asking, undefined))
const costly = workflow('costly', { budget: { steps: 1 } }, async (ctx) => {
  for (let i = 0; i < 3; i += 1) await ctx.step(`step-${i}`, () => i)
})

function scratch(): string {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-notify-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }))
  return dir
}

interface Stage {
  readonly host: Host
  readonly dir: string
  readonly problems: Error[]
  readonly start: (settings: NotificationOptions['settings'], more?: Partial<NotificationOptions>) => Promise<Running>
}
type Running = ReturnType<typeof startNotifications>

async function stage(): Promise<Stage> {
  const dir = scratch()
  const host = await createHost({ dir, definitions: [hello, failing, asking, parent, costly] })
  onTestFinished(() => host.close())
  const problems: Error[] = []
  const service = createService(host)
  const start: Stage['start'] = async (settings, more = {}) => {
    const running = startNotifications({
      service,
      dir,
      settings,
      onProblem: (error) => void problems.push(error as Error),
      version: '1.2.3',
      env: { HOOK: SECRET },
      backoff: [5, 5, 5],
      ...more,
    })
    onTestFinished(() => running.stop())
    const receivers = (settings.webhooks?.length ?? 0) + (settings.desktop === true ? 1 : 0)
    await expect.poll(() => Object.keys(placesIn(dir)).length, PATIENCE).toBe(receivers)
    return running
  }
  return { host, dir, problems, start }
}

function placesIn(dir: string): object {
  const file = join(dir, '.nerve', 'notified.json')
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { places: object }).places : {}
}

const ids = (received: readonly Received[]): string[] => received.map(({ notification }) => notification.id)
const types = (received: readonly Received[]): string[] => received.map(({ notification }) => notification.type)

describe('webhooks', () => {
  it('hear of questions, ends, failures and spent budgets, signed', async () => {
    const { host, dir, problems, start } = await stage()
    await (await host.start(hello, 'before')).result()
    const { url, received } = await webhookReceiver()
    await start({ webhooks: [{ url, secretEnv: 'HOOK' }] })
    const done = await host.start(hello, 'Ada')
    await done.result()
    await expect.poll(() => types(received), PATIENCE).toEqual(['completed'])
    const { headers, body, notification } = received[0]!
    const { length } = await host.journal(done.id)
    expect(notification).toEqual({
      id: `${done.id}:${length}`,
      type: 'completed',
      project: dir.split('/').at(-1),
      run: done.id,
      root: done.id,
      definition: 'hello',
      time: expect.any(Number),
      output: 'Hello Ada',
      failures: 0,
    })
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'nerve/1.2.3',
      'nerve-id': notification.id,
      'nerve-timestamp': expect.stringMatching(/^\d{10}$/),
      'nerve-signature': expect.stringMatching(/^v1=[0-9a-f]{64}$/),
    })
    expect(verifyWebhook({ secret: SECRET, headers, body })).toBe(true)
    expect(verifyWebhook({ secret: SECRET, headers: new Headers(headers as Record<string, string>), body })).toBe(true)
    expect(verifyWebhook({ secret: 'another', headers, body })).toBe(false)
    expect(verifyWebhook({ secret: SECRET, headers, body: `${body} ` })).toBe(false)
    expect(verifyWebhook({ secret: SECRET, headers: {}, body })).toBe(false)
    expect(verifyWebhook({ secret: '', headers, body })).toBe(false)
    const sent = Number(headers['nerve-timestamp']) * 1_000
    expect(verifyWebhook({ secret: SECRET, headers, body, now: sent + 299_000 })).toBe(true)
    expect(verifyWebhook({ secret: SECRET, headers, body, now: sent + 301_000 })).toBe(false)
    expect(verifyWebhook({ secret: SECRET, headers, body, now: sent - 301_000 })).toBe(false)

    await (await host.start(failing)).result().catch(() => undefined)
    await expect.poll(() => received.length, PATIENCE).toBe(2)
    await (await host.start(costly)).result().catch(() => undefined)
    await expect.poll(() => received.length, PATIENCE).toBe(3)
    const asked = await host.start(parent)
    await asked.rest()
    await expect.poll(() => types(received), PATIENCE).toEqual(['completed', 'failed', 'budget', 'question'])
    expect(received[1]!.notification.error).toEqual({ message: 'no luck' })
    expect(received[2]!.notification.budget).toEqual({ dimension: 'steps', used: 1, limit: 1 })
    const [question] = await host.inbox()
    expect(received[3]!.notification).toMatchObject({
      definition: 'asking',
      root: asked.id,
      question: { id: question?.id, kind: 'ask', prompt: 'Publish?', choices: ['yes', 'no'] },
    })
    // The end of a child is its parent's, and what a person cancelled is no news.
    await host.answer(question?.id ?? '', 'yes')
    await (await host.start(asking)).cancel()
    await asked.result()
    await expect.poll(() => types(received).at(-1), PATIENCE).toBe('completed')
    expect(received.at(-1)!.notification).toMatchObject({ run: asked.id, output: 'yes' })
    expect(received).toHaveLength(5)
    expect(problems).toEqual([])
    expect(statSync(join(dir, '.nerve', 'notified.json')).mode & 0o777).toBe(0o600)
  })

  it('are tried again after a 503, in order, and each hears what it wants', async () => {
    const { host, problems, start } = await stage()
    let refused = 0
    const slow = await webhookReceiver((_received, response) => {
      refused += 1
      response.writeHead(refused <= 2 ? 503 : refused === 4 ? 429 : 200, { 'retry-after': '0' }).end()
    })
    const other = await webhookReceiver()
    await start({
      webhooks: [
        { url: slow.url, secretEnv: 'HOOK' },
        { url: other.url, secretEnv: 'HOOK', on: ['failed'] },
      ],
    })
    const names = ['one', 'two', 'three']
    for (const name of names) await (await host.start(hello, name)).result()
    await (await host.start(failing)).result().catch(() => undefined)
    await expect.poll(() => types(other.received), PATIENCE).toEqual(['failed'])
    await expect.poll(() => types(slow.received).at(-1), PATIENCE).toBe('failed')
    const told = slow.received.map(({ notification }) => notification.output ?? notification.type)
    expect(told).toEqual(['one', 'one', 'one', 'two', 'two', 'three', 'failed'].map((name) => output(name)))
    expect(new Set(ids(slow.received)).size).toBe(4)
    expect(problems).toEqual([])
  })

  it('that refuse, send elsewhere or are never there are told of, and what comes next is sent', async () => {
    const { host, problems, start } = await stage()
    let count = 0
    const { url, received } = await webhookReceiver((_received, response) => {
      count += 1
      if (count === 1) response.writeHead(404).end('nobody')
      else if (count === 2) response.writeHead(302, { location: url }).end()
      else if (count <= 6) response.destroy()
      else response.end()
    })
    await start({ webhooks: [{ url, secretEnv: 'HOOK' }] })
    for (const name of ['404', '302', 'gone', 'fine']) await (await host.start(hello, name)).result()
    await expect.poll(() => received.length, PATIENCE).toBe(7)
    expect(received.at(-1)!.notification.output).toBe('Hello fine')
    const { origin } = new URL(url)
    expect(problems).toMatchObject([
      { code: 'http-failed', message: expect.stringContaining(`${origin} did not take`) },
      { code: 'http-failed', message: expect.stringContaining('it answered 302') },
      { code: 'http-failed', message: expect.stringContaining('after 4 tries: ') },
    ])
    expect(problems.map(String).join()).not.toContain('/hook')
  })

  it('go on after a stop where they were, without doubles, and without what nobody waits for any more', async () => {
    const { host, dir, problems, start } = await stage()
    const { url, received } = await webhookReceiver()
    const settings = { webhooks: [{ url, secretEnv: 'HOOK' }] }
    const first = await start(settings)
    await (await host.start(hello, 'one')).result()
    await expect.poll(() => received.length, PATIENCE).toBe(1)
    await first.stop()
    await (await host.start(hello, 'two')).result()
    const asked = await host.start(asking)
    await asked.rest()
    await host.answer((await host.inbox())[0]?.id ?? '', 'no')
    // Without its secret a webhook gets nothing unsigned, and later what it has missed.
    const unset = await start(settings, { env: {} })
    expect(problems).toMatchObject([{ code: 'not-ready', message: expect.stringContaining('HOOK') }])
    await unset.stop()
    const third = await start(settings)
    await expect.poll(() => received.length, PATIENCE).toBe(3)
    await third.stop()
    expect(received.map(({ notification }) => notification.output)).toEqual(['Hello one', 'Hello two', 'no'])
    // One that is taken out of the settings is forgotten: should it come back, it begins anew.
    await (await start({})).stop()
    expect(placesIn(dir)).toEqual({})
  })

  it('are told again of at most what was on its way, also with many runs at once', async () => {
    const { host, dir, start } = await stage()
    const file = join(dir, '.nerve', 'notified.json')
    const many = 200
    let places = ''
    const { url, received } = await webhookReceiver((_received, response) => {
      // As a process that is killed now would leave it.
      if (received.length === many) places = readFileSync(file, 'utf8')
      response.end()
    })
    const settings = { webhooks: [{ url, secretEnv: 'HOOK' }] }
    const before = await start(settings)
    for (let i = 0; i < many; i += 1) await host.start(asking)
    await expect.poll(() => received.length, PATIENCE).toBe(many)
    await before.stop()
    writeFileSync(file, places)
    const last = await host.start(asking)
    await start(settings)
    await expect.poll(() => received.at(-1)?.notification.run, PATIENCE).toBe(last.id)
    expect(ids(received).slice(many - 1)).toEqual([
      ids(received)[many - 1],
      ids(received)[many - 1],
      ids(received).at(-1),
    ])
  })

  it('that are just being told when it stops are not told again', async () => {
    const { host, problems, start } = await stage()
    const answer = Promise.withResolvers<void>()
    const { url, received } = await webhookReceiver(
      (_received, response) => void answer.promise.then(() => response.end()),
    )
    const settings = { webhooks: [{ url, secretEnv: 'HOOK' }] }
    const first = await start(settings)
    await (await host.start(hello, 'one')).result()
    await expect.poll(() => received.length, PATIENCE).toBe(1)
    const stopped = first.stop()
    answer.resolve()
    await stopped
    await start(settings)
    await (await host.start(hello, 'two')).result()
    await expect.poll(() => received.length, PATIENCE).toBe(2)
    expect(received.map(({ notification }) => notification.output)).toEqual(['Hello one', 'Hello two'])
    expect(problems).toEqual([])
  })

  it('get no secrets, and begin anew when the file of their places is damaged', async () => {
    const { host, dir, problems } = await stage()
    const { url, received } = await webhookReceiver()
    writeFileSync(join(dir, '.nerve', 'notified.json'), '{"format":1,"places":{"x":1}}')
    const settings = { webhooks: [{ url, secretEnv: 'HOOK' }] }
    const running = startNotifications({
      service: createService(host),
      dir,
      settings,
      onProblem: (error) => void problems.push(error as Error),
      env: { HOOK: SECRET, OTHER_TOKEN: 'token-of-somebody' },
    })
    onTestFinished(() => running.stop())
    expect(problems).toMatchObject([{ code: 'bad-file' }])
    await expect.poll(() => readFileSync(join(dir, '.nerve', 'notified.json'), 'utf8')).toContain('webhook-')
    await (await host.start(hello, `${SECRET} token-of-somebody ${'x'.repeat(3_000)}`)).result()
    await expect.poll(() => received.length, PATIENCE).toBe(1)
    expect(received[0]!.notification.output).toMatch(/^Hello \[redacted\] \[redacted\] x{470,480}…$/)
  })
})

const output = (name: string): string => (name === 'failed' ? name : `Hello ${name}`)

describe('a killed process', () => {
  it('sends again what was on its way, under the same id, and loses nothing', async () => {
    const dir = scratch()
    let child: ChildProcess
    const third = Promise.withResolvers<void>()
    const { url, received } = await webhookReceiver((_received, response) => {
      // It has the second one, and the place is not written: what it would answer comes to nobody.
      if (received.length === 2) void third.promise.then(() => child.kill('SIGKILL'))
      else response.end()
    })
    const started = async (): Promise<ChildProcess> => {
      const worker = fork(join(import.meta.dirname, 'notifying-worker.ts'), [dir, url], {
        execArgv: ['--conditions=nerve-source'],
        env: { ...process.env, NODE_COMPILE_CACHE: join(tmpdir(), 'nerve-cli-compile-cache'), HOOK: SECRET },
      })
      onTestFinished(() => void worker.kill('SIGKILL'))
      await once(worker, 'message')
      await expect.poll(() => Object.keys(placesIn(dir)).length, PATIENCE).toBe(1)
      return worker
    }
    child = await started()
    child.on('message', (about) => about === 'three' && third.resolve())
    const gone = once(child, 'exit')
    child.send('one')
    await expect.poll(() => received.length, PATIENCE).toBe(1)
    child.send('two')
    child.send('three')
    await gone
    child = await started()
    await expect.poll(() => received.length, PATIENCE).toBeGreaterThanOrEqual(4)
    const second = once(child, 'exit')
    child.send('stop')
    await second
    const prompts = received.map(({ notification }) => notification.question?.prompt)
    expect(prompts.slice(0, 3)).toEqual(['one?', prompts[1], prompts[1]])
    expect(new Set(prompts)).toEqual(new Set(['one?', 'two?', 'three?']))
    expect(prompts).toHaveLength(4)
    expect(received[2]!.headers['nerve-id']).toBe(received[1]!.headers['nerve-id'])
    expect(received[2]!.body).toBe(received[1]!.body)
    expect(new Set(ids(received)).size).toBe(3)
  })
})

describe('the desktop', () => {
  /** A program that writes down its arguments, one on each line. */
  function fakeNotifySend(code = 0): { readonly PATH: string; readonly shown: () => string[][] } {
    const folder = scratch()
    const log = join(folder, 'log')
    writeFileSync(join(folder, 'notify-send'), `#!/bin/sh\nprintf '%s\\n' "$@" . >> '${log}'\nexit ${code}\n`)
    chmodSync(join(folder, 'notify-send'), 0o755)
    const shown = (): string[][] =>
      (existsSync(log) ? readFileSync(log, 'utf8') : '')
        .split('\n.\n')
        .filter((text) => text !== '')
        .map((text) => text.split('\n'))
    return { PATH: `${folder}:${process.env['PATH']}`, shown }
  }

  it('shows texts that no shell, option or markup can be made of', async () => {
    const { host, problems, start } = await stage()
    const { PATH, shown } = fakeNotifySend()
    await start({ desktop: true }, { platform: 'linux', env: { DISPLAY: ':0', PATH } })
    await (await host.start(hello, '--help $(id) `id` <b>\\n & "x"\u001B[31m\n;')).result()
    await expect.poll(shown, PATIENCE).toHaveLength(1)
    expect(shown()[0]).toEqual([
      '--app-name=Nerve',
      '--',
      'Nerve: hello is done',
      'Hello --help $(id) `id` &lt;b&gt;\\\\n &amp; "x" [31m ;',
    ])
    await (await host.start(asking)).rest()
    await expect.poll(() => shown().length, PATIENCE).toBe(2)
    expect(shown()[1]?.slice(2)).toEqual(['Nerve: asking asks', 'Publish?'])
    expect(problems).toEqual([])
  })

  it('that is not there is said once, and one that fails holds up nothing', async () => {
    const { host, problems, start } = await stage()
    const { PATH, shown } = fakeNotifySend(3)
    const nowhere = { service: createService(host), dir: scratch(), settings: { desktop: true } }
    const onProblem = (error: unknown): void => void problems.push(error as Error)
    for (const [platform, env] of [
      ['linux', { PATH }],
      ['linux', { PATH: '/nowhere', WAYLAND_DISPLAY: 'x' }],
      ['win32', { PATH }],
    ] as const)
      await startNotifications({ ...nowhere, onProblem, platform, env }).stop()
    expect(problems.splice(0).map(({ message }) => message)).toEqual([
      'There are no notifications on the desktop here: neither DISPLAY nor WAYLAND_DISPLAY is set.',
      'There are no notifications on the desktop here: there is no notify-send.',
      'There are no notifications on the desktop here: they are not known on win32.',
    ])
    await start({ desktop: true }, { platform: 'linux', env: { WAYLAND_DISPLAY: 'wayland-0', PATH } })
    await (await host.start(hello, 'one')).result()
    await (await host.start(hello, 'two')).result()
    await expect.poll(() => shown().length, PATIENCE).toBe(2)
    await expect.poll(() => problems.length, PATIENCE).toBe(2)
    expect(problems[0]?.message).toMatch(/was not shown on the desktop: .*notify-send ended with 3\./)
  })
})

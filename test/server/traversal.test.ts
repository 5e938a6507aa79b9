/**
 * Names that try to lead out of the project, one field at a time, in every field of everything that can be asked, as lines and
 * over HTTP: what names something is refused, what is only data changes nothing but what it should, and nothing outside is
 * read, loaded, made, changed or removed.
 */
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { connect as connectSocket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { contract, isFeed, isSafe, type Name } from '../../src/host/contract/contract.ts'
import { pathOf } from '../../src/host/contract/wire.ts'
import { textFields, withText, type Field } from './text-fields.ts'
import { DATA, FILES, INPUTS, MORE, exported } from './traversal-inputs.ts'
import { OUT, SECRET, traversalScene, type Scene, type Tree } from './traversal-scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await traversalScene()
})
afterAll(() => scene.end())

function evilNames(): readonly string[] {
  const up = [1, 2, 3, 4, 8].map((levels) => `${'../'.repeat(levels)}${OUT}`)
  const other = [
    `work/../../../${OUT}`,
    `./../${OUT}`,
    `..\\..\\${OUT}`,
    `%2e%2e%2f${OUT}`,
    `....//....//${OUT}`,
    `${OUT}\0.json`,
    `~/${OUT}`,
    '..',
    join(scene.above, OUT),
    join(scene.above, `${OUT}.ts`),
  ]
  return [...up, ...other]
}

/** What is wrong with what was asked. */
const REFUSED = /^(bad-|not-found$|unknown-)/

/** What may be in `.nerve`: everything there is named by what is a name. */
const ORDINARY =
  /^(nerve\.db(-wal|-shm)?|here|\.gitignore|(sessions|definitions|history)(\/[\w-]+(\.(json|lock|lock-journal|jsonl))?)*)$/

interface Answer {
  readonly text: string
  /** The code, where it was refused. */
  readonly refused?: string
}

type Way = (name: Name, input: object) => Promise<Answer>

const ways: Readonly<Record<string, Way>> = {
  async lines(name, input) {
    const socket = connectSocket(scene.socket)
    try {
      socket.write(`${JSON.stringify({ id: 1, [isFeed(name) ? 'feed' : 'call']: name, input })}\n`)
      const [text] = (await once(createInterface({ input: socket }), 'line')) as [string]
      return answerOf(text)
    } finally {
      socket.destroy()
    }
  },

  async HTTP(name, input) {
    const query = isSafe(name) ? queryOf(input) : undefined
    const path = `${pathOf(name)}${query === undefined ? '' : `?${query}`}`
    const headers = { 'content-type': 'application/json' }
    const method = query === undefined ? 'POST' : 'GET'
    const sent = request({ socketPath: scene.socket, path, headers, method, agent: false })
    sent.on('error', () => undefined).end(query === undefined ? JSON.stringify(input) : '')
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    let text = ''
    for await (const part of response) {
      text += String(part)
      if (isFeed(name)) break
    }
    const answer = answerOf(text)
    expect(response.statusCode).toBeLessThan(500)
    expect({ ...answer, status: response.statusCode === 200 }).toMatchObject({ status: answer.refused === undefined })
    return answer
  },
}

/** In an address, where everything in it can be said there. */
function queryOf(input: object): string | undefined {
  const values = Object.values(input).flat()
  return values.some((one) => typeof one === 'object') ? undefined : String(new URLSearchParams(Object.entries(input)))
}

function answerOf(text: string): Answer {
  const { error } = (text.startsWith('{') ? JSON.parse(text) : {}) as { error?: { name: string; code?: string } }
  if (error === undefined) return { text }
  return { text, refused: error.name === 'NerveError' ? (error.code ?? '') : `${error.name}: not known` }
}

describe.each(Object.entries(ways))('as %s', (_way, ask) => {
  // Nobody is to stop the host; it takes no name.
  const names = (Object.keys(contract) as Name[]).filter((name) => name !== 'shutdown')

  it.each(names)('%s', async (name) => {
    const { refused } = await ask(name, await INPUTS[name](scene.near))
    expect({ name, refused }).toEqual({ name, refused: undefined })
    const outside = scene.outside()
    for (const field of textFields(name, MORE[name])) await expectNoWayOut(name, field, ask)
    await forgetMade(name)
    expect({ name, outside: scene.outside() }).toEqual({ name, outside })
  })
})

/** One field of what is asked is evil, and all others are as they should be. */
async function expectNoWayOut(name: Name, { at, isData }: Field, ask: Way): Promise<void> {
  const place = `${name} ${at.join('.')}`
  if (FILES.has(place)) return
  const isName = !isData && !DATA.has(place)
  const right = await INPUTS[name](scene.near)
  const before = scene.inside()
  for (const evil of evilNames()) {
    // What is refused changes nothing, so the rest of it is as good for the next.
    const rest = isName ? right : await INPUTS[name](scene.near)
    const { refused, text } = await ask(name, withText(rest, at, evil) as object)
    expect({ place, evil, tells: text.includes(SECRET) }).toEqual({ place, evil, tells: false })
    if (isName) expect({ place, evil, refused }).toEqual({ place, evil, refused: expect.stringMatching(REFUSED) })
  }
  const after = scene.inside()
  if (isName) expect({ place, inside: after }).toEqual({ place, inside: before })
  else expect({ place, odd: odd(after) }).toEqual({ place, odd: odd(before) })
}

/** What was made is not for others to find: definitions may have names that files may not. */
async function forgetMade(name: Name): Promise<void> {
  const { near } = scene
  if (name === 'definitions.create')
    for (const { name: definition } of await near.definitions())
      if (evilNames().includes(definition)) await near.call('definitions.remove', { definition })
  if (name.startsWith('sessions.'))
    for (const { name: session } of await near.call('sessions.list', {}))
      if (/^n\d+$/.test(session)) await near.call('sessions.remove', { session })
}

/** What is named as nothing here should be. */
function odd(tree: Tree): Tree {
  return Object.fromEntries(Object.entries(tree).filter(([path]) => !ORDINARY.test(path)))
}

it('addresses that lead out of what is served', async () => {
  const outside = scene.outside()
  for (const way of ['../', '..%2f', '%2e%2e/', '%2e%2e%2f', '..\\', '..;/', './../'])
    for (const base of ['/', '/v1/', '/v1/runs/', '/mcp/'])
      for (const depth of [1, 3, 8]) {
        const path = `${base}${way.repeat(depth)}${OUT}`
        const sent = request({ socketPath: scene.socket, path, agent: false }).end()
        const [response] = (await once(sent, 'response')) as [IncomingMessage]
        let text = ''
        for await (const part of response) text += String(part)
        expect({ path, status: response.statusCode }).toEqual({ path, status: 404 })
        expect(text).not.toContain(SECRET)
      }
  expect(scene.outside()).toEqual(outside)
})

it('ids in an exported run that lead out of the project', async () => {
  const text = await exported(scene.near)
  const [, id = ''] = /"root":"(\w+)"/.exec(text) ?? []
  for (const [way, ask] of Object.entries(ways))
    for (const evil of evilNames()) {
      const led = text.replaceAll(`"${id}"`, JSON.stringify(evil))
      const { refused } = await ask('runs.import', { text: led })
      expect({ way, evil, refused }).toEqual({ way, evil, refused: 'bad-file' })
    }
})

it('and none of it is a problem of the host', () => {
  expect(scene.problems).toEqual([])
})

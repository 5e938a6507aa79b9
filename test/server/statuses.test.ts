/** What HTTP answers when something cannot be done: a request that is wrong is never told as a failure of the host. */
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hostUnderTest, type UnderTest } from './host-under-test.ts'

let under: UnderTest
beforeAll(async () => {
  under = await hostUnderTest()
})
afterAll(() => under.end())

interface Answer {
  readonly status: number
  readonly code: string | undefined
}

/** On the unix socket, where everything may be asked. */
async function ask(name: string, input: object): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const path = `/v1/${name.replaceAll('.', '/')}`
  const headers = { 'content-type': 'application/json' }
  const sent = request({ socketPath: under.socket, path, method: 'POST', headers }, (response) => {
    let text = ''
    response.setEncoding('utf8').on('data', (part: string) => (text += part))
    response.on('end', () => {
      const { error } = JSON.parse(text) as { error?: { code?: string } }
      resolve({ status: response.statusCode ?? 0, code: error?.code })
    })
  })
  sent.on('error', reject).end(JSON.stringify(input))
  return promise
}

const EXPORTED = '{"nerve":"export","format":1,"root":"a","runs":["a"]}'

describe('what is wrong with a request', () => {
  const wrong: Readonly<Record<string, readonly [name: string, input: object, status: number, code: string]>> = {
    'a time that is none': ['runs.remove', { olderThan: 'soon' }, 400, 'bad-duration'],
    'a text that is no exported run': ['runs.import', { text: 'nothing' }, 400, 'bad-file'],
    'an exported run with nothing in it': ['runs.import', { text: EXPORTED }, 400, 'bad-file'],
    'an exported run of a newer Nerve': ['runs.import', { text: EXPORTED.replace('1', '999') }, 409, 'store-newer'],
    'a file that is not there': ['runs.start', { file: '/nowhere/at/all.ts' }, 400, 'bad-file'],
    'a definition that is not there': ['runs.start', { definition: 'nothing' }, 404, 'not-found'],
    'a spec that is none': ['definitions.create', { spec: { nerve: 1, name: 'x' } }, 400, 'bad-definition'],
    'a node that is not there': ['nodes.execute', { node: 'nothing' }, 404, 'not-found'],
    'a budget that makes no sense': ['runs.start', { definition: 'busy', budget: { usd: -1 } }, 400, 'bad-option'],
  }
  it.each(Object.entries(wrong))('%s', async (_what, [name, input, status, code]) => {
    expect(await ask(name, input)).toEqual({ status, code })
  })
})

it('what was tried, and failed, is 500', async () => {
  expect(await ask('nodes.execute', { node: 'shout', input: 7 })).toEqual({ status: 500, code: 'run-failed' })
})

it('and none of it is a problem of the host', () => {
  expect(under.problems).toEqual([])
})

import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { hostName, pageOrigin } from './addresses.ts'
import { Doorkeeper } from './doorkeeper.ts'

const page = (text: string): string => pageOrigin(text, 'origins')
const host = (text: string): string => hostName(text, 'hosts')

describe('where pages come from', () => {
  it.each([
    ['https://dashboard.example', 'https://dashboard.example'],
    ['https://dashboard.example/', 'https://dashboard.example'],
    ['HTTPS://Dashboard.Example:443', 'https://dashboard.example'],
    ['http://127.0.0.1:5173/', 'http://127.0.0.1:5173'],
    ['chrome-extension://abcdef', 'chrome-extension://abcdef'],
  ])('%s is as browsers say it', (given, meant) => expect(page(given)).toBe(meant))

  it.each([
    'foo',
    '*',
    'dashboard.example',
    'https://dashboard.example/app',
    'https://me@dashboard.example',
    'https://',
  ])('%s is refused, and what would be right is said', (given) =>
    expect(() => page(given)).toThrow(/^origins: .* Give it as https:\/\/dashboard\.example/),
  )
})

describe('names of the host', () => {
  it.each([
    ['Nerve.example', 'nerve.example'],
    ['nerve.example:8443', 'nerve.example:8443'],
    ['[FE80::1]:4400', '[fe80::1]:4400'],
    ['bücher.example', 'xn--bcher-kva.example'],
  ])('%s is as it is in requests', (given, meant) => expect(host(given)).toBe(meant))

  it.each(['http://nerve.example', 'nerve.example/', 'nerve example', 'me@nerve.example', ''])(
    '%s is refused, and what would be right is said',
    (given) => expect(() => host(given)).toThrow(/^hosts: .* Give it as nerve\.example/),
  )
})

it('a page is let in however its address was written', () => {
  const doorkeeper = new Doorkeeper({ hosts: ['Nerve.example'], origins: ['https://Dashboard.example/'] })
  const socket = { localPort: 4400, localAddress: '127.0.0.1' } as Socket
  doorkeeper.checkAddress({ host: 'nerve.example', origin: 'https://dashboard.example' }, socket)
  const other = { host: 'nerve.example', origin: 'https://dashboard.example.evil' }
  expect(() => doorkeeper.checkAddress(other, socket)).toThrow('may not use this host')
})

import { describe, expect, it } from 'vitest'
import { REDACTED, createRedactor } from './redact.ts'

const none = createRedactor({ env: {} })

describe('a redactor', () => {
  it.each([
    ['sk-ant-api03-AbCdEfGhIjKlMnOpQrSt', REDACTED],
    ['use ghp_abcdefghijklmnopqrstuvwxyz0123456789 now', `use ${REDACTED} now`],
    ['AKIAIOSFODNN7EXAMPLE', REDACTED],
    ['xoxb-123456789012-abcdef', REDACTED],
    ['Authorization: Bearer abcdefghijklmnop', `Authorization: Bearer ${REDACTED}`],
    ['postgres://ada:hunter2@db/x', `postgres://ada:${REDACTED}@db/x`],
    ['export API_KEY="a b" DB_PASSWORD=hunter2; ls', `export API_KEY=${REDACTED} DB_PASSWORD=${REDACTED}; ls`],
    ['a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb', `a\n${REDACTED}\nb`],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl', REDACTED],
  ])('knows what keys look like: %s', (text, clean) => {
    expect(none.text(text)).toBe(clean)
    expect(none.finds(text)).toBe(true)
  })

  it.each([
    'sk-learn-and-other-words-that-are-long',
    'npm_config_registry_and_more is a name',
    'the key is under the mat',
    'tokens: 123',
    'https://example.org:8080/path@x',
  ])('leaves other text alone: %s', (text) => {
    expect(none.text(text)).toBe(text)
    expect(none.finds(text)).toBe(false)
  })

  it('knows the values of variables that are named like secrets, the longest first', () => {
    const { text } = createRedactor({
      env: { MY_TOKEN: 'longsecret', OTHER_SECRET: 'longsecret-more', A_KEY: 'short', HOME: '/home/ada-lovelace' },
    })
    expect(text('longsecret-more, longsecret, short, /home/ada-lovelace')).toBe(
      `${REDACTED}, ${REDACTED}, short, /home/ada-lovelace`,
    )
  })

  it('looks into values, at fields by their names, and at more patterns', () => {
    const { value } = createRedactor({ env: {}, patterns: [/bolt-\d+/g] })
    const given = {
      apiKey: 'x',
      GITHUB_TOKEN: 'y',
      cacheKey: 'z',
      tokens: 3,
      list: [{ password: 'p' }],
      note: 'bolt-12',
    }
    expect(value(given)).toEqual({
      apiKey: REDACTED,
      GITHUB_TOKEN: REDACTED,
      cacheKey: 'z',
      tokens: 3,
      list: [{ password: REDACTED }],
      note: REDACTED,
    })
  })

  it('makes something that JSON can hold of whatever it gets', () => {
    const round: Record<string, unknown> = {
      big: 1n,
      map: new Map([['a', 1]]),
      at: new Date(0),
      bytes: new Uint8Array(3),
    }
    round['self'] = round
    round['run'] = (): void => undefined
    expect(none.value(round)).toEqual({
      big: '1n',
      map: { a: 1 },
      at: '1970-01-01T00:00:00.000Z',
      bytes: '[3 bytes]',
      self: '[cycle]',
      run: '[function]',
    })
    expect(none.value(Number.NaN)).toBe('NaN')
  })

  it('cuts very long text, and says how much is missing', () => {
    const text = none.text('a'.repeat(3_000_000))
    expect(text.length).toBeLessThan(66_000)
    expect(text).toMatch(/… \(2934464 more characters\)$/u)
  })

  it.each([
    ['a-sk-abcdefghijklmnop1', `a-${REDACTED}`],
    ['sk-sk-abcdefghijklmnop sk-abcdefghijklmnop1', `sk-sk-abcdefghijklmnop ${REDACTED}`],
    ['session-eyJhbGciOiJI.eyJzdWIiOiIx. eyJ', `session-${REDACTED} eyJ`],
    ['eyJhbGciOiJI eyJhbGciOiJI.short.eyJhbGciOiJI.eyJzdWIiOiIx.x', `eyJhbGciOiJI eyJhbGciOiJI.short.${REDACTED}`],
    [`${'a-'.repeat(50)}b://ada:hunter2@db`, `${'a-'.repeat(50)}b://ada:${REDACTED}@db`],
  ])('finds a key behind what begins like one: %s', (text, clean) => {
    expect(none.text(text)).toBe(clean)
  })

  it('reads a text once, whatever is repeated in it', () => {
    const keys =
      'sk-|ghp_|glpat-|AKIA|AIza|xoxb-|eyJ|Bearer |a://b:|A_KEY|A_KEY="|-----BEGIN |PRIVATE KEY-----|-----END '
    const pieces = ['a', 'A', '0', '-', '_', '.', ':', '/', '@', '+', '=', '"', ' ', ...keys.split('|')]
    const cost = (text: string): number => {
      const begun = performance.now()
      none.text(text)
      return performance.now() - begun
    }
    // What else the machine does can only make it take longer: one good time is enough. Squared, it would be 64 times.
    const isLinear = (piece: string): boolean => {
      const of = (size: number) => piece.repeat(Math.ceil(size / piece.length))
      return Array.from({ length: 8 }).some(() => cost(of(32_768)) < 32 * Math.max(cost(of(4_096)), 1))
    }
    const repeated = [...pieces, ...pieces.flatMap((one) => pieces.map((other) => one + other))]
    expect(repeated.find((piece) => !isLinear(piece))).toBeUndefined()
  })
})

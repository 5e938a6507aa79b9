import { describe, expect, it } from 'vitest'
import { isSchema, parseWith, type Schema, type SchemaResult } from './schema.ts'

function schema(validate: (value: unknown) => SchemaResult<unknown> | Promise<SchemaResult<unknown>>): Schema {
  return { '~standard': { version: 1, vendor: 'test', validate } }
}

describe('parseWith', () => {
  const problem = { code: 'bad-input', what: 'The input' } as const

  it('gives back what the schema made, also later', async () => {
    expect(
      await parseWith(
        schema((value) => ({ value: Number(value) })),
        '5',
        problem,
      ),
    ).toBe(5)
    expect(
      await parseWith(
        schema((value) => Promise.resolve({ value: [value] })),
        1,
        problem,
      ),
    ).toEqual([1])
  })

  it('names every field that does not fit', async () => {
    const failing = schema(() => ({
      issues: [
        { message: 'too short', path: ['user', { key: 'name' }, 0] },
        { message: 'required' },
        { message: 'odd', path: [] },
      ],
    }))
    await expect(parseWith(failing, 1, problem)).rejects.toMatchObject({
      code: 'bad-input',
      message: 'The input does not fit its schema: user.name.0: too short; required; odd',
      data: { issues: ['user.name.0: too short', 'required', 'odd'] },
    })
  })
})

it('does not say more than somebody would read', async () => {
  const failing = schema(() => ({ issues: Array.from({ length: 100_000 }, () => ({ message: 'x'.repeat(5_000) })) }))
  const refused = parseWith(failing, 1, { code: 'bad-input', what: 'The input' })
  await expect(refused).rejects.toThrow(/; and 99900 more$/)
  expect((await refused.then(() => '', String)).length).toBeLessThan(110_000)
})

describe('isSchema', () => {
  it('tells a schema by its standard part, also when it is a function', () => {
    expect(isSchema(schema((value) => ({ value })))).toBe(true)
    expect(
      isSchema(
        Object.assign(
          () => 1,
          schema((value) => ({ value })),
        ),
      ),
    ).toBe(true)
    for (const other of [null, undefined, 1, {}, () => 1]) expect(isSchema(other)).toBe(false)
  })
})

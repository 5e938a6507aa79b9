import { describe, expect, it } from 'vitest'
import { answerValues } from './values.ts'

const choices = ['allow', 'deny']

describe('a typed answer', () => {
  it.each([
    ['without anything beside the choices, is text', { kind: 'ask', choices }, '{"deny":"why"}', ['{"deny":"why"}']],
    ['that is data, is data where a question takes it', { kind: 'permission', choices, free: {} }, '{"deny":"why"}'],
    ['that is data, is data beside choices and a schema', { kind: 'ask', choices, schema: true }, '{"deny":"why"}'],
  ] as const)('%s', (_, question, text, values: readonly unknown[] = [{ deny: 'why' }, text]) => {
    expect(answerValues(question, text)).toEqual(values)
  })

  it('that is a number is a choice before it is anything else', () => {
    expect(answerValues({ kind: 'ask', choices, free: {} }, '2')).toEqual(['2', 2])
    expect(answerValues({ kind: 'ask', schema: true }, '2')).toEqual([2, '2'])
    expect(answerValues({ kind: 'ask', choices, free: {} }, 'mauve')).toEqual(['mauve'])
  })
})

import { describe, expect, it } from 'vitest'
import { answersTo, formOf, questionsIn } from './questions.ts'

const options = [{ label: 'red', description: 'like fire' }, { label: 'blue' }]

describe('the questions in the input of a tool', () => {
  it.each([
    ['claude', { questions: [{ question: 'Which?', header: 'Colour', options, multiSelect: true }] }, { many: true }],
    ['codex', { questions: [{ id: 'c', question: 'Which?', header: 'Colour', options, isOther: true }] }, {}],
    ['opencode', { questions: [{ question: 'Which?', header: 'Colour', options, multiple: true }] }, { many: true }],
  ])('are read as %s says them', (_, input, more) => {
    expect(questionsIn(input)).toEqual([{ text: 'Which?', header: 'Colour', options, free: true, ...more }])
  })

  it('may be one, with texts as choices, and say that other words are not taken, or are secret', () => {
    expect(questionsIn({ question: 'Which?', choices: ['red', 'blue'], allowFreeform: false })).toEqual([
      { text: 'Which?', options: [{ label: 'red' }, { label: 'blue' }] },
    ])
    expect(questionsIn({ questions: [{ question: 'Key?', options: null, isSecret: true }] })).toEqual([
      { text: 'Key?', free: true, secret: true },
    ])
    expect(questionsIn(undefined)).toEqual([{ text: '', free: true }])
    expect(questionsIn({ questions: 'all of them' })).toEqual([])
  })

  it('are asked with the choices that they have, each once', () => {
    expect(formOf({ text: 'Why?', free: true })).toMatchObject({ free: { description: 'Give a text.' } })
    expect(formOf({ text: 'Which?', options: [...options, ...options] })).toEqual({ choices: ['red', 'blue'] })
    expect(formOf({ text: 'Which?', options, many: true, free: true }).free).toMatchObject({
      description: 'Give one of the choices, or a list of them, or your own words.',
    })
  })

  it('are answered with the reason when they are refused', async () => {
    const asked = { id: '1', tool: 'ask' }
    const input = { questions: [{ question: 'Which?' }, { question: 'Why?' }] }
    const refused = { question: async () => ({ refused: 'nobody is here' }) }
    expect(await answersTo(refused, asked, input)).toEqual([['nobody is here'], ['nobody is here']])
    const answered = { question: async () => ({ answers: [['red'], ['so']] }) }
    expect(await answersTo(answered, asked, input)).toEqual([['red'], ['so']])
  })
})

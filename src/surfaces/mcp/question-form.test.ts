import { describe, expect, it } from 'vitest'
import type { Question } from '../client/client.ts'
import { answersIn, formOf } from './question-form.ts'

const question: Question = { id: 'q-1', run: 'q', path: 'a', kind: 'ask', prompt: 'Which?', asked: 0 } as Question

describe('a form', () => {
  it('has a field for choices, and one for what is taken beside them', () => {
    const free = { type: 'string', description: 'Give one of the choices, or your own words.' }
    const { requestedSchema } = formOf({ ...question, choices: ['a', 'b'], free })
    expect(requestedSchema).toMatchObject({
      properties: { answer: { enum: ['a', 'b'] }, value: { description: free.description } },
    })
    expect(requestedSchema).not.toHaveProperty('required')
    expect(formOf({ ...question, choices: ['a', 'b'] }).requestedSchema).toMatchObject({ required: ['answer'] })
    expect(formOf({ ...question, schema: true }).requestedSchema).toMatchObject({ required: ['value'] })
    expect(formOf(question).requestedSchema).toMatchObject({ properties: { answer: {} }, required: ['answer'] })
  })

  it('means what was written, before what was chosen', () => {
    expect(answersIn({ answer: 'a', value: '' })).toEqual(['a'])
    expect(answersIn({ answer: 'a', value: 'mauve' })).toEqual(['mauve'])
    expect(answersIn({ value: '{"deny":"why"}' })).toEqual([{ deny: 'why' }, '{"deny":"why"}'])
    expect(answersIn({})).toEqual([])
  })
})

import { expect, it } from 'vitest'
import { questionOf } from './elicitation.ts'

it('a field that is wanted is missing, also one whose name every object knows', async () => {
  const form = { properties: { constructor: { type: 'string' }, name: { type: 'string' } }, required: ['constructor'] }
  const check = (answer: unknown) => questionOf(form).schema?.['~standard'].validate(answer)
  expect(await check({ name: 'Ada' })).toMatchObject({ issues: [{ message: 'is missing', path: ['constructor'] }] })
  expect(await check({ constructor: 'Ada' })).toMatchObject({ value: { action: 'accept' } })
})

import { expect, it } from 'vitest'
import { FewAtOnce } from './few-at-once.ts'

it('does so much at once, in order, and goes on after what fails', async () => {
  const few = new FewAtOnce(2)
  let now = 0
  let most = 0
  const begun: number[] = []
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, (_, at) =>
      few.take(async () => {
        begun.push(at)
        now += 1
        most = Math.max(most, now)
        await new Promise((resolve) => setImmediate(resolve))
        now -= 1
        if (at % 3 === 0) throw new Error('no luck')
        return at
      }),
    ),
  )
  expect(most).toBe(2)
  expect(begun).toEqual(Array.from({ length: 20 }, (_, at) => at))
  expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(7)
  expect(await few.take(() => Promise.resolve('again'))).toBe('again')
})

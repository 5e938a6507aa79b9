import { afterEach, expect, test, vi } from 'vitest'
import { NodeOutput } from './node-output.ts'
import type { Output } from './output.ts'

afterEach(() => vi.restoreAllMocks())

function output(json = false): { readonly shown: NodeOutput; readonly text: () => string } {
  let text = ''
  const out = { json, write: (more: string) => void (text += more) } as unknown as Output
  return { shown: new NodeOutput(out, true), text: () => text }
}

const part = (data: string) => ({ type: 'stdout', data })
const GAP = { type: 'gap', dropped: 2 }

test('what comes is printed as it comes', () => {
  const { shown, text } = output()
  shown.hear(part('one '))
  expect(text()).toBe('one ')
  shown.hear({ type: 'text-delta', data: 'not for here' })
  shown.hear(part('two'))
  shown.end('r', { stdout: 'one two', exitCode: 0 })
  expect(text()).toBe('one two')
  expect(shown.streamed).toBe(true)
})

test('what did not come is printed from the result, once', () => {
  const { shown, text } = output()
  shown.hear(part('one '))
  shown.hear(GAP)
  shown.hear(part('four'))
  shown.end('r', { stdout: 'one two three four', exitCode: 0 })
  expect(text()).toBe('one two three four')
})

test('what is not in the result either is told of', () => {
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const { shown, text } = output()
  shown.hear(part('one '))
  shown.hear(GAP)
  shown.end('r', { stdout: 'three four', truncated: true })
  expect(text()).toBe('one ')
  expect(said).toHaveBeenCalledWith(expect.stringContaining('nerve show r'))
})

test('with --json nothing is printed on the way', () => {
  const { shown, text } = output(true)
  shown.hear(part('one'))
  shown.end('r', { stdout: 'one' })
  expect([text(), shown.streamed]).toEqual(['', false])
})

import { describe, expect, it } from 'vitest'
import { fileURLToPath } from 'node:url'
import { placeOf } from './error-place.ts'

const own = fileURLToPath(new URL('../engine/step.ts', import.meta.url))

describe('the place of an error', () => {
  it.each([
    ['a function in a module', 'Error: no\n    at helper (file:///a/flow.ts:3:16)', '/a/flow.ts:3:16'],
    ['no function', 'Error: no\n    at file:///a/flow.ts:3:16', '/a/flow.ts:3:16'],
    ['a file that is no module', 'Error: no\n    at Object.<anonymous> (/a/flow.js:3:16)', '/a/flow.js:3:16'],
    ['a file that was loaded again', 'Error: no\n    at async file:///a/flow.ts?nerve=2:3:16', '/a/flow.ts:3:16'],
    [
      'a folder with spaces and more',
      'Error: no\n    at f (file:///a%20(b)/%C3%A4/flow.ts:3:16)',
      '/a (b)/ä/flow.ts:3:16',
    ],
    ['wrong syntax', 'file:///a/flow.ts:3\n  const a = ;\n            ^\nSyntaxError: no', '/a/flow.ts:3'],
    ['a package', 'Error: no\n    at f (file:///a/node_modules/b/c.js:1:1)\n    at /a/d.js:2:2', '/a/d.js:2:2'],
    ['Node', 'Error: no\n    at readFileSync (node:fs:441:20)\n    at file:///a/d.js:2:2', '/a/d.js:2:2'],
    ['Nerve', `Error: no\n    at f (file://${own}:1:1)\n    at ${own}:2:2\n    at /a/d.js:2:2`, '/a/d.js:2:2'],
    ['a message of several lines', 'Error: GET http://a/b:80\nat noon\n    at /a/d.js:2:2', '/a/d.js:2:2'],
    ['nowhere', 'Error: no\n    at <anonymous>', undefined],
    ['no stack', undefined, undefined],
  ])('is known: %s', (_, stack, place) => {
    expect(placeOf(stack)).toBe(place)
  })
})

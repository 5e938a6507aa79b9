/** Expressions: what they give, what they refuse, and that they are bounded. */
import { describe, expect, it } from 'vitest'
import { isNerveError } from 'nerve'
import { expr, template } from 'nerve/spec'

const FACTS = {
  n: 5,
  text: 'Ünïcode 🦦',
  none: null,
  list: [3, 1, 2],
  object: { a: 1, 'k-e-y': { deep: [true] } },
  value: { score: 7 },
  results: { done: 'x', skipped: undefined },
}

describe('an expression', () => {
  it.each([
    ['n + 1', 6],
    ['n / 2', 2.5],
    ['1 / 2', 0.5],
    ['n % 2 - 3 * 2', -5],
    ['-n', -5],
    ['0.1 + 0.2 < 0.31', true],
    ['n == 5 && n == 5.0', true],
    ['"a" + "b" == "ab"', true],
    ['[1] + list', [1, 3, 1, 2]],
    ['value.score < 8', true],
    ['value.score >= 8 ? "good" : 4', 4],
    ['object["k-e-y"].deep[0]', true],
    ['object == {"k-e-y": {"deep": [true]}, "a": 1}', true],
    ['2 in list && !("b" in object) && "a" in object', true],
    ['none == null', true],
    ['has(object.a) && !has(object.b)', true],
    ['object.?b.c.orValue(3)', 3],
    ['object.?a.orValue(3)', 1],
    ['object.?b', null],
    ['object.?b.hasValue()', false],
    ['list[?7].orValue("none")', 'none'],
    ['size(text)', 9],
    ['list.size() + size(object)', 5],
    ['list.map(x, x * 2)', [6, 2, 4]],
    ['list.map(x, x > 1, x * 2)', [6, 4]],
    ['list.filter(x, x > 1)', [3, 2]],
    ['list.all(x, x > 0) && list.exists(x, x == 3) && list.exists_one(x, x > 2)', true],
    ['object.map(key, key)', ['a', 'k-e-y']],
    ['list.map(x, list.map(y, x * y))[1]', [3, 1, 2]],
    ['[list.sum(), list.min(), list.max()]', [6, 1, 3]],
    ['text.contains("🦦") && text.startsWith("Ü") && text.endsWith("🦦")', true],
    ['"a,b".split(",").join("-")', 'a-b'],
    ['" ab ".trim().upperAscii() + "AB".lowerAscii()', 'ABab'],
    ['"hello".substring(1, 3) + "hello".substring(4)', 'elo'],
    ['"hello".indexOf("l")', 2],
    ['string(n) + string(list) + string(true)', '5[3,1,2]true'],
    ['int("41") + int(1.9) + double("0.5")', 42.5],
    ['bool("true") || bool("false")', true],
    ['results.skipped', null],
    ['results.unheard', null],
    ['has(results.skipped)', false],
    ['results.?skipped.orValue(1)', 1],
    ['0x10 + 1e3', 1016],
    ['// why\nn', 5],
  ])('%s', (text, value) => {
    expect(expr(text)(FACTS)).toEqual(value)
  })

  it.each([
    ['value.scores', /there is no "scores" in value/u],
    ['none.a', /there is no "a" in none/u],
    ['list[3]', /list has 3 items, so there is none at 3/u],
    ['list[0.5]', /none at 0.5/u],
    ['list["a"]', /not the number of an item/u],
    ['n.a', /n is 5, which has nothing inside/u],
    ['object.constructor', /there is no "constructor"/u],
    ['object.__proto__', /there is no "__proto__"/u],
    ['nobody', /'nobody' is not known here/u],
    ['text + n', /means nothing. To join texts, say string/u],
    ['n && true', /n is 5, not true or false/u],
    ['text ? 1 : 2', /not true or false/u],
    ['!n', /not true or false/u],
    ['-text', /not a number/u],
    ['n < text', /means nothing/u],
    ['1 / 0', /JSON cannot hold/u],
    ['object.?a + 1', /may be missing: say .orValue/u],
    ['list.sum(1) + text.sum()', /works on lists/u],
    ['[text].sum()', /works on lists of numbers/u],
    ['[].min()', /an empty list/u],
    ['text.substring(50)', /outside a text/u],
    ['int("x")', /not a number/u],
    ['bool(n)', /neither true nor false/u],
    ['size(n)', /not known/u],
    ['n.all(x, x)', /neither a list nor an object/u],
    ['{n: 1}', /is a key, and so must be a text/u],
  ])('%s has no value', (text, message) => {
    const run = expr(text)
    expect(() => run(FACTS)).toThrow(message)
    try {
      run(FACTS)
    } catch (error) {
      expect(isNerveError(error, 'bad-expression')).toBe(true)
    }
  })

  it.each([
    ['', /ends too early/u],
    ['a ==', /ends too early/u],
    ['a b', /cannot be read/u],
    ['sise(a)', /no function sise\(\). Did you mean 'size'/u],
    ['a.fliter(x, x)', /no method .fliter\(\). Did you mean 'filter'/u],
    ['a.matches("(a+)+$")', /no method .matches/u],
    ['timestamp("2024-01-01T00:00:00Z")', /no function timestamp/u],
    ['cel.bind(x, 1, x)', /no method .bind/u],
    ['b"bytes"', /not a value of JSON/u],
    ['4u', /not a value of JSON/u],
    ['9007199254740993', /not a value of JSON/u],
    [`"${'x'.repeat(2_000)}"`, /longer than 2000 characters/u],
    ['('.repeat(200) + '1' + ')'.repeat(200), /maxDepth/u],
    [Array.from({ length: 300 }, () => '1').join('+'), /maxAstNodes|maxDepth/u],
  ])('%s cannot be read', (text, message) => {
    expect(() => expr(text)).toThrow(message)
  })

  it('never does more than it may, whatever it is given', () => {
    const facts = { list: Array.from({ length: 2_000 }, (_, n) => n), text: 'x'.repeat(100_000) }
    const object = Object.fromEntries(facts.list.map((n) => [`k${n}`, n]))
    const greedy = [
      'list.all(a, list.all(b, a != -1))',
      'list.map(a, list.map(b, list))',
      'string(list.map(a, list))',
      'list.map(a, text + text).size() > 0',
      'list.map(a, text).join()',
      'list.exists(a, text.contains("y"))',
      'list.exists(a, [text, text] == [])',
      'object.exists(a, !object.exists(b, true))',
      'list.exists(a, size(text) == 1)',
      'list.exists(a, text.split("") == [])',
      'list.map(a, list + list)',
      'list.map(a, [list, list, list])',
      'list.map(a, {"a": list})',
    ]
    for (const text of greedy) {
      const began = performance.now()
      expect(() => expr(text)({ ...facts, object }), text).toThrow(/more than 1000000 operations/u)
      expect(performance.now() - began, text).toBeLessThan(2_000)
    }
  })

  it('looks only into data', () => {
    class Secret {
      readonly inside = 1
    }
    const facts = { secret: new Secret(), date: new Date(0), map: new Map([['a', 1]]), run: () => 1 }
    for (const text of ['secret.inside', 'date.getTime', 'map.a', 'run.name', 'run.constructor'])
      expect(() => expr(text)(facts), text).toThrow(/nothing inside|there is no/u)
    expect(expr('[date]')(facts)).toEqual([new Date(0)])
  })

  it('leaves what it is given as it is', () => {
    const facts = { list: Object.freeze([1, 2]), object: Object.freeze({ a: 1 }) }
    expect(expr('{"__proto__": 1, "a": list + list, "b": object}')(facts)).toEqual(
      JSON.parse('{"__proto__": 1, "a": [1, 2, 1, 2], "b": {"a": 1}}'),
    )
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  it('sees names, whoever calls it', () => {
    expect(expr('results.a + input + params.b')({ a: 1 }, { input: 2, params: { b: 3 }, errors: {} })).toBe(6)
    expect(expr('errors.a.message')({}, { input: 0, params: {}, errors: { a: new Error('no') } })).toBe('no')
    expect(expr('value > iteration')({ value: 2, iteration: 1, history: [] })).toBe(true)
    expect(expr('string(item) + string(index)')('a', 7)).toBe('a7')
  })
})

describe('a template', () => {
  const facts = { name: 'Ada', n: 2, list: [1, { a: null }] }
  it.each<[unknown, unknown]>([
    ['${{ n }}', 2],
    ['${{list}}', [1, { a: null }]],
    [' ${{ n }}', ' 2'],
    ['Hello ${{ name }}, ${{ n + 1 }} times', 'Hello Ada, 3 times'],
    ['${{ list }} and ${{ name == "Ada" }}', '[1,{"a":null}] and true'],
    ['{ "a": {{ n }} } ${ n } $n {{}}', '{ "a": {{ n }} } ${ n } $n {{}}'],
    ['$${{ n }}', '${{ n }}'],
    ['$$${{ n }}', '$${{ n }}'],
    ['${{ {"a": {"b": n}} }}', { a: { b: 2 } }],
    ['${{ "}}" + name }}', '}}Ada'],
    ["${{ '{{' }}!", '{{!'],
    [
      { a: ['${{ n }}', { b: 'x' }], c: null, d: 1.5 },
      { a: [2, { b: 'x' }], c: null, d: 1.5 },
    ],
    [7, 7],
  ])('%j', (data, value) => {
    expect(template(data)(facts)).toEqual(value)
  })

  it('says what is not closed, and what cannot be read', () => {
    expect(() => template('${{ n')).toThrow(/not closed/u)
    expect(() => template({ a: ['x ${{ n + }}'] })).toThrow(/cannot be read/u)
  })
})

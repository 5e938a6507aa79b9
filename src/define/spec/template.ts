/**
 * Data with expressions in it. One rule: in a text, `${{ expression }}` stands for its value. A text that is nothing else
 * becomes the value itself; in a longer text it becomes text. Everything else is data as it is, braces and all.
 * `$${{` is written where the text itself has `${{`.
 */
import { pure } from '../control/control.ts'
import { evaluate } from './evaluate.ts'
import { badExpression, expr, factsOf, parseExpression, type ExpressionFunction } from './expression.ts'
import { UNCOUNTED, textOf } from './expression-functions.ts'

/** A piece of a text: text as it is, or an expression and where it begins. */
export type Piece = { readonly text: string } | { readonly expression: string; readonly offset: number }

const MARK = /(\$+)\{\{/gu
const TEMPLATE: unique symbol = Symbol('template')

/** The pieces of a text; an expression that is not closed is a problem with its offset. */
export function pieces(text: string): readonly Piece[] | { readonly unclosed: number } {
  const found: Piece[] = []
  let plain = ''
  let at = 0
  for (const mark of text.matchAll(MARK)) {
    if (mark.index < at) continue
    const dollars = mark[1] ?? ''
    plain += text.slice(at, mark.index)
    at = mark.index + mark[0].length
    if (dollars.length > 1) {
      plain += `${dollars.slice(1)}{{`
      continue
    }
    const end = endOf(text, at)
    if (end === undefined) return { unclosed: mark.index }
    if (plain !== '') found.push({ text: plain })
    plain = ''
    const inside = text.slice(at, end)
    found.push({ expression: inside.trim(), offset: at + inside.length - inside.trimStart().length })
    at = end + 2
  }
  plain += text.slice(at)
  if (plain !== '' || found.length === 0) found.push({ text: plain })
  return found
}

/** Where the expression that begins here ends: at `}}` outside its own texts and braces. */
function endOf(text: string, from: number): number | undefined {
  let depth = 0
  let quote: string | undefined
  for (let at = from; at < text.length; at += 1) {
    const one = text[at]
    if (quote !== undefined) {
      if (one === '\\') at += 1
      else if (one === quote) quote = undefined
    } else if (one === '"' || one === "'") quote = one
    else if (one === '{') depth += 1
    else if (one === '}') {
      if (depth > 0) depth -= 1
      else if (text[at + 1] === '}') return at
    }
  }
  return undefined
}

/** A text that reads back as itself. */
function escaped(text: string): string {
  return text.replaceAll(MARK, (_, dollars: string) => `$${dollars}{{`)
}

/** A text with expressions as one expression that joins them; undefined when it has none. */
export function joinedExpression(text: string): string | undefined {
  const found = pieces(text)
  if (!isPieces(found) || !found.some((piece) => 'expression' in piece)) return undefined
  return found
    .map((piece) => ('text' in piece ? JSON.stringify(piece.text) : `string(${piece.expression})`))
    .join(' + ')
}

export function isPieces(found: ReturnType<typeof pieces>): found is readonly Piece[] {
  return Array.isArray(found)
}

type Fill = (facts: Readonly<Record<string, unknown>>) => unknown

/** A function that a template gives, or the data itself when there is no expression in it. */
export type Filled = { readonly data: unknown } | { readonly make: ExpressionFunction }

export function readTemplate(data: unknown): Filled {
  const fill = compile(data)
  if (fill === undefined) return { data: unescaped(data) }
  const single = typeof data === 'string' ? pieces(data) : undefined
  const [only, ...others] = single !== undefined && isPieces(single) ? single : []
  if (only !== undefined && 'expression' in only && others.length === 0) return { make: expr(only.expression) }
  const make = pure((first?: unknown, second?: unknown) => fill(factsOf(first, second)), JSON.stringify(data))
  return { make: Object.assign(make, { [TEMPLATE]: data }) }
}

/**
 * A function from data with expressions in it, for the input of a step.
 *
 * ```ts
 * import { defineNode } from 'nerve'
 * import { graph } from 'nerve/graph'
 * import { template } from 'nerve/spec'
 *
 * const mail = defineNode('mail', ({ subject }: { subject: string; to: string }) => subject)
 *
 * export default graph<{ name: string; address: string }>('welcome').step('mail', mail, {
 *   inputFn: template({ subject: 'Welcome, ${{ input.name }}', to: '${{ input.address }}' }),
 * })
 * ```
 */
export function template<Value = unknown>(data: unknown): ExpressionFunction<Value> {
  const read = readTemplate(data)
  if ('make' in read) return read.make as ExpressionFunction<Value>
  const make = pure(() => read.data as Value, JSON.stringify(data) ?? 'null')
  return Object.assign(make, { [TEMPLATE]: data })
}

/** The data that a template was made of. */
export function templateOf(make: (...given: never[]) => unknown): { readonly data: unknown } | undefined {
  return TEMPLATE in make ? { data: (make as unknown as { readonly [TEMPLATE]: unknown })[TEMPLATE] } : undefined
}

/** undefined for what has no expression in it. */
function compile(data: unknown): Fill | undefined {
  if (typeof data === 'string') return compileText(data)
  if (typeof data !== 'object' || data === null) return undefined
  const entries = Object.entries(data).map(([key, value]) => [key, compile(value), value] as const)
  if (entries.every(([, fill]) => fill === undefined)) return undefined
  const fills = entries.map(([key, fill, value]) => [key, fill ?? constant(unescaped(value))] as const)
  if (Array.isArray(data)) return (facts) => fills.map(([, fill]) => fill(facts))
  return (facts) => Object.fromEntries(fills.map(([key, fill]) => [key, fill(facts)]))
}

function compileText(text: string): Fill | undefined {
  const found = pieces(text)
  if (!isPieces(found)) throw badExpression(text, { message: 'a ${{ is not closed by }}.', offset: found.unclosed })
  if (!found.some((piece) => 'expression' in piece)) return undefined
  const fills = found.map((piece): Fill =>
    'text' in piece ? constant(piece.text) : compileExpression(piece.expression),
  )
  const [only] = fills
  if (fills.length === 1 && only !== undefined) return only
  return (facts) => fills.map((fill) => textOf(UNCOUNTED, fill(facts))).join('')
}

function compileExpression(text: string): Fill {
  const parsed = parseExpression(text)
  if ('problem' in parsed) throw badExpression(text, parsed.problem)
  return (facts) => evaluate(parsed.ast, text, facts)
}

const constant =
  (value: unknown): Fill =>
  () =>
    value

/** Data without expressions, as it is meant. */
function unescaped(data: unknown): unknown {
  if (typeof data === 'string') {
    const found = pieces(data)
    return isPieces(found) ? found.map((piece) => ('text' in piece ? piece.text : '')).join('') : data
  }
  if (Array.isArray(data)) return data.map(unescaped)
  if (typeof data !== 'object' || data === null) return data
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, unescaped(value)]))
}

/** The opposite: data as a template that has no expressions and gives it back. */
export function asTemplate(data: unknown): unknown {
  if (typeof data === 'string') return escaped(data)
  if (Array.isArray(data)) return data.map(asTemplate)
  if (typeof data !== 'object' || data === null) return data
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, asTemplate(value)]))
}

/** A field that takes an expression takes it with or without `${{ }}` around it. */
export function bareExpression(text: string): string {
  if (!text.includes('${{')) return text
  const found = pieces(text.trim())
  const [only, ...others] = isPieces(found) ? found : []
  return only !== undefined && 'expression' in only && others.length === 0 ? only.expression : text
}

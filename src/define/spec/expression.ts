/**
 * Expressions: CEL, over JSON. The library parses; evaluate.ts walks what it parsed. Nothing is ever turned into code,
 * and every text is bounded in length, size and depth.
 */
import type { ASTNode, Environment } from '@marcbachmann/cel-js'
import { NerveError, errorData } from '../../base/nerve-error.ts'
import { pure, type Pure } from '../control/control.ts'
import { evaluate } from './evaluate.ts'
import { checkCalls, type ExpressionProblem } from './expression-check.ts'

const MAX_CHARACTERS = 2_000
const LIMITS = {
  maxAstNodes: 500,
  maxDepth: 50,
  maxListElements: 200,
  maxMapEntries: 200,
  maxCallArguments: 8,
}

let environment: Environment | undefined

/** Loaded when the first expression is read: most programs have none, and it takes longer to load than Nerve. */
function parser(): Environment {
  if (environment !== undefined) return environment
  const { createRequire } = process.getBuiltinModule('node:module')
  const require = createRequire(import.meta.url)
  const cel = require('@marcbachmann/cel-js') as typeof import('@marcbachmann/cel-js')
  environment = new cel.Environment({ enableOptionalTypes: true, limits: LIMITS })
  return environment
}

export type Parsed = { readonly ast: ASTNode } | { readonly problem: ExpressionProblem }

export function parseExpression(text: string): Parsed {
  if (text.length > MAX_CHARACTERS)
    return { problem: { message: `it is longer than ${MAX_CHARACTERS} characters.`, offset: 0 } }
  try {
    const { ast } = parser().parse(text)
    const [problem] = checkCalls(ast)
    return problem === undefined ? { ast } : { problem }
  } catch (error) {
    const { summary, range, message } = error as Error & { summary?: string; range?: { start: number } }
    const said = (summary ?? message.split('\n')[0] ?? '').replace('Unexpected token: EOF', 'It ends too early')
    return { problem: { message: `${said.replace(/\.$/u, '')}.`, offset: range?.start ?? 0 } }
  }
}

/** A function that an expression gives: of the facts of a step, or of the state of a control node. */
export type ExpressionFunction<Value = unknown> = ((first?: unknown, second?: unknown) => Value) & Pure

/**
 * A function from an expression, for conditions and inputs. A definition whose functions are all made by this can be
 * written down as a spec.
 *
 * ```ts
 * import { defineNode } from 'nerve'
 * import { graph } from 'nerve/graph'
 * import { expr } from 'nerve/spec'
 *
 * const post = defineNode('post', (text: string) => text.length)
 *
 * export default graph<{ text: string }>('short').step('post', post, {
 *   when: expr('size(input.text) < 280'),
 *   inputFn: expr('input.text'),
 * })
 * ```
 */
export function expr<Value = unknown>(text: string): ExpressionFunction<Value> {
  const parsed = parseExpression(text)
  if ('problem' in parsed) throw badExpression(text, parsed.problem)
  return fromParsed(text, parsed.ast)
}

function fromParsed<Value>(text: string, ast: ASTNode): ExpressionFunction<Value> {
  return pure((first?: unknown, second?: unknown) => evaluate(ast, text, factsOf(first, second)) as Value, text)
}

export function badExpression(text: string, { message, offset }: ExpressionProblem): NerveError {
  return new NerveError('bad-expression', `The expression ${JSON.stringify(text)} cannot be read: ${message}`, {
    data: { expression: text, offset },
  })
}

/**
 * What an expression sees, whatever calls it: functions of steps get results and facts, functions of control nodes one
 * object of facts, or what they are about and facts, or an item and its number.
 */
export function factsOf(first: unknown, second: unknown): Readonly<Record<string, unknown>> {
  if (second === undefined) return (first ?? {}) as Readonly<Record<string, unknown>>
  if (typeof second === 'number') return { item: first, index: second }
  const { errors = {}, ...facts } = second as { readonly errors?: Readonly<Record<string, unknown>> }
  return {
    ...facts,
    results: first,
    output: first,
    errors: Object.fromEntries(Object.entries(errors).map(([id, error]) => [id, plainError(error)])),
  }
}

function plainError(error: unknown): unknown {
  const { stack: _stack, ...rest } = errorData(error)
  return rest
}

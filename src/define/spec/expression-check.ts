/** What is wrong with a parsed expression, found without running it. Pure. */
import type { ASTNode } from '@marcbachmann/cel-js'
import { nearest } from '../../base/nearest.ts'
import { FUNCTION_NAMES, METHOD_NAMES, isMacro } from './expression-functions.ts'

/** What is wrong with a text, and where in it. */
export interface ExpressionProblem {
  readonly message: string
  readonly offset: number
}

/** What an expression can see in its place. */
export interface Sight {
  readonly names: readonly string[]
  /** The steps whose results it can see, when it can see results. */
  readonly results?: readonly string[]
  /** All steps of the graph, to tell a step that is not before this one from one that does not exist. */
  readonly steps?: readonly string[]
}

/** Calls of what there is not, and literals that JSON does not have. */
export function checkCalls(ast: ASTNode): ExpressionProblem[] {
  const problems: ExpressionProblem[] = []
  visit(ast, [], (node) => {
    const offset = node.start
    if (node.op === 'call' && !FUNCTION_NAMES.includes(node.args[0]))
      problems.push({
        message: `there is no function ${node.args[0]}().${near(node.args[0], FUNCTION_NAMES)}`,
        offset,
      })
    else if (node.op === 'rcall' && !METHOD_NAMES.includes(node.args[0]))
      problems.push({ message: `there is no method .${node.args[0]}().${near(node.args[0], METHOD_NAMES)}`, offset })
    else if (node.op === 'value' && !isLiteral(node.args))
      problems.push({
        message: `${node.input.slice(node.start, node.end)} is not a value of JSON, or not a number that it can hold.`,
        offset,
      })
  })
  return problems
}

/** Names that mean nothing in this place. */
export function checkNames(ast: ASTNode, sight: Sight): ExpressionProblem[] {
  const problems: ExpressionProblem[] = []
  const { names, results, steps = [] } = sight
  visit(ast, [], (node, bound) => {
    if (node.op === 'id' && !bound.includes(node.args) && !names.includes(node.args))
      problems.push({
        message: `'${node.args}' is not known here.${near(node.args, names)} Known: ${names.join(', ')}.`,
        offset: node.start,
      })
    const step = results === undefined ? undefined : stepOf(node, bound)
    if (step === undefined || results?.includes(step) === true) return
    problems.push({
      message: steps.includes(step)
        ? `the result of '${step}' is not known here: add '${step}' to after.`
        : `there is no step '${step}'.${near(step, steps)}`,
      offset: node.start,
    })
  })
  return problems
}

/** The step in `results.step` or `results["step"]`. */
function stepOf(node: ASTNode, bound: readonly string[]): string | undefined {
  const isAccess = node.op === '.' || node.op === '.?' || node.op === '[]' || node.op === '[?]'
  if (!isAccess) return undefined
  const [of, key] = node.args
  if (of.op !== 'id' || of.args !== 'results' || bound.includes('results')) return undefined
  if (typeof key === 'string') return key
  return key.op === 'value' && typeof key.args === 'string' ? key.args : undefined
}

type See = (node: ASTNode, bound: readonly string[]) => void

function visit(node: ASTNode, bound: readonly string[], see: See): void {
  see(node, bound)
  if (node.op === 'rcall') {
    const [name, receiver, args] = node.args
    visit(receiver, bound, see)
    const [variable, ...bodies] = args
    const binds = isMacro(name) && variable?.op === 'id'
    const inside = binds ? [...bound, variable.args] : bound
    for (const one of binds ? bodies : args) visit(one, inside, see)
    return
  }
  for (const one of partsOf(node)) visit(one, bound, see)
}

function partsOf(node: Exclude<ASTNode, { op: 'rcall' }>): readonly ASTNode[] {
  switch (node.op) {
    case 'value':
    case 'id':
      return []
    case '.':
    case '.?':
      return [node.args[0]]
    case 'call':
      return node.args[1]
    case 'map':
      return node.args.flat()
    case '!_':
    case '-_':
      return [node.args]
    default:
      return node.args
  }
}

function isLiteral(value: unknown): boolean {
  if (typeof value === 'bigint')
    return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)
  if (typeof value === 'number') return Number.isFinite(value)
  return value === null || typeof value === 'string' || typeof value === 'boolean'
}

function near(word: string, known: readonly string[]): string {
  const found = nearest(word, known)
  return found === undefined ? '' : ` Did you mean '${found}'?`
}

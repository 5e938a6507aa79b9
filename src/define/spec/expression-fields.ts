/** Fields that hold expressions, and texts with expressions in them. */
import { checkNames, type Sight } from './expression-check.ts'
import { parseExpression } from './expression.ts'
import { isRecord, type Key, type ShapeProblem } from '../../base/json-schema.ts'
import { bareExpression, isPieces, joinedExpression, pieces } from './template.ts'

/** How deep anything in a spec may be nested. */
export const DEEPEST = 60

type Path = readonly Key[]
type Problems = readonly ShapeProblem[]

export function expressionProblems(value: unknown, path: Path, sight: Sight): Problems {
  if (typeof value !== 'string') return [{ path, message: 'should be an expression, as a text.' }]
  const text = bareExpression(value)
  const parsed = parseExpression(text)
  const found = 'problem' in parsed ? [parsed.problem] : checkNames(parsed.ast, sight)
  return found.map(({ message, offset }) => ({ path, message, text, offset }))
}

export function templateProblems(value: unknown, path: Path, sight: Sight): Problems {
  if (typeof value === 'string') {
    const found = pieces(value)
    if (!isPieces(found)) return [{ path, message: 'a ${{ is not closed by }}.', text: value, offset: found.unclosed }]
    return found.flatMap((piece) => ('text' in piece ? [] : expressionProblems(piece.expression, path, sight)))
  }
  if (path.length > DEEPEST) return [{ path, message: 'is nested too deep.' }]
  if (Array.isArray(value)) return value.flatMap((one, at) => templateProblems(one, [...path, at], sight))
  if (!isRecord(value)) return []
  return Object.entries(value).flatMap(([key, one]) => templateProblems(one, [...path, key], sight))
}

/** Where a field takes a text or an expression, a text with expressions in it is one that joins them. */
export function fillExpressions(
  data: Readonly<Record<string, unknown>>,
  fields: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => {
      const expression = typeof value === 'string' && takesExpression(fields[key]) ? joinedExpression(value) : undefined
      return [key, expression === undefined ? value : { expression }]
    }),
  )
}

function takesExpression(schema: unknown): boolean {
  if (!isRecord(schema)) return false
  const forms: unknown = schema['oneOf'] ?? schema['anyOf']
  return (
    Array.isArray(forms) &&
    forms.some((form) => isRecord(form) && isRecord(form['properties']) && 'expression' in form['properties'])
  )
}

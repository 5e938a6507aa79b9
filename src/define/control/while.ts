import { checkKnown } from '../../base/check-known.ts'
import type { InputOf, OutputOf } from '../../engine/definition.ts'
import {
  LOOP_FACTS,
  MAX_ITERATIONS,
  checkFunction,
  checkLimit,
  controlNode,
  decide,
  expressedCondition,
  expressionField,
  given,
  limitReached,
  runPart,
  sourceOf,
  type ControlForm,
  type ControlNode,
  type LoopResult,
  type LoopState,
} from './control.ts'
import type { Fits, Part } from './fit.ts'

export interface WhileOptions<Body, Value> {
  readonly id?: string
  /** Goes round for as long as this holds. */
  readonly condition: (state: LoopState<Value>) => boolean | Promise<boolean>
  /** Gets the value, and returns the next one. */
  readonly body: Body & Fits<OutputOf<Body>, Body>
  /** Where it is cut off (default 100). The result says so, and the journal. */
  readonly maxIterations?: number
}

/**
 * Runs its body again and again while a condition holds. Each iteration is durable.
 *
 * ```ts
 * import { defineNode } from 'nerve'
 * import { While } from 'nerve/control'
 *
 * const halve = defineNode('halve', (n: number) => n / 2)
 * export default While({ id: 'shrink', condition: ({ value }) => value > 1, body: halve })
 * ```
 */
export function While<Body extends Part, Value = InputOf<Body> | OutputOf<Body>>(
  options: WhileOptions<Body, Value>,
): ControlNode<InputOf<Body>, LoopResult<Value>> {
  checkKnown('While', options, ['id', 'condition', 'body', 'maxIterations'])
  const { id = 'while', condition, maxIterations = MAX_ITERATIONS } = options
  const body: Part = options.body
  return controlNode<InputOf<Body>, LoopResult<Value>>({
    kind: 'while',
    id,
    parts: { body },
    note: [sourceOf(condition), `at most ${maxIterations} times`].filter((text) => text !== undefined).join(', '),
    problems: [...checkFunction('condition', condition), ...checkLimit(maxIterations)],
    async run(ctx, input) {
      const history: Value[] = []
      let value = input as Value
      for (let iteration = 0; ; iteration += 1) {
        const state = { iteration, value, history, params: ctx.params }
        const ended = await ctx.scope(String(iteration + 1), async () => {
          if (!(await decide(ctx, 'condition', () => condition(state), condition))) return 'condition'
          if (iteration === maxIterations) return 'limit'
          value = await runPart<Value>(ctx, body, value)
          return undefined
        })
        if (ended === undefined) {
          history.push(value)
          continue
        }
        if (ended === 'limit') limitReached(ctx, id, maxIterations)
        return { value, iterations: iteration, ended }
      }
    },
    write: (write) => ({
      while: write.expression('condition', condition),
      do: write.node(body),
      ...given({ maxIterations: options.maxIterations }),
    }),
    copy: (name, swap) => While<Body, Value>({ ...options, id: name, body: swap(options.body) }),
  })
}

export const whileForm: ControlForm = {
  kind: 'while',
  fields: {
    while: expressionField(...LOOP_FACTS),
    do: { $ref: '#/$defs/node' },
    maxIterations: { type: 'integer', minimum: 1 },
  },
  required: ['while', 'do'],
  read: ({ id, while: condition, do: body, maxIterations }, reader) =>
    While({
      ...given({ id: id as string | undefined, maxIterations: maxIterations as number | undefined }),
      condition: expressedCondition(reader, condition, (state: LoopState) => state),
      body: reader.node(body),
    }),
}

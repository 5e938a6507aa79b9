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

export interface LoopOptions<Body, Accumulate extends boolean = false> {
  readonly id?: string
  /** Gets the value, and returns the next one. Runs at least once. */
  readonly body: Body & Fits<OutputOf<Body>, Body>
  /** How often it goes round, unless `until` ends it before. */
  readonly times?: number
  /** Ends it when this holds after an iteration. */
  readonly until?: (state: LoopState<OutputOf<Body>>) => boolean | Promise<boolean>
  /** Where it is cut off (default 100, or `times` when that is given). The result says so, and the journal. */
  readonly maxIterations?: number
  /** The value of the result is the list of all outputs, not the last one. */
  readonly accumulate?: Accumulate
}

/**
 * Runs its body a number of times, or until a condition holds. Each iteration is durable.
 *
 * ```ts
 * import { defineNode } from 'nerve'
 * import { Loop } from 'nerve/control'
 *
 * const double = defineNode('double', (n: number) => n * 2)
 * export default Loop({ id: 'grow', body: double, until: ({ value }) => value > 100, maxIterations: 20 })
 * ```
 */
export function Loop<Body extends Part, Accumulate extends boolean = false>(
  options: LoopOptions<Body, Accumulate>,
): ControlNode<InputOf<Body>, LoopResult<Accumulate extends true ? OutputOf<Body>[] : OutputOf<Body>>> {
  checkKnown('Loop', options, ['id', 'body', 'times', 'until', 'maxIterations', 'accumulate'])
  const { id = 'loop', times, until, accumulate, maxIterations = times ?? MAX_ITERATIONS } = options
  const body: Part = options.body
  return controlNode<InputOf<Body>, LoopResult<Accumulate extends true ? OutputOf<Body>[] : OutputOf<Body>>>({
    kind: 'loop',
    id,
    parts: { body },
    always: [body],
    note: noteOf(options, maxIterations),
    problems: problemsOf(options, maxIterations),
    async run(ctx, input) {
      const history: OutputOf<Body>[] = []
      let value: unknown = input
      for (let iteration = 1; ; iteration += 1) {
        const met = await ctx.scope(String(iteration), async () => {
          const output = await runPart<OutputOf<Body>>(ctx, body, value)
          value = output
          history.push(output)
          const state = { iteration, value: output, history, params: ctx.params }
          return until !== undefined && decide(ctx, 'until', () => until(state), until)
        })
        const ended = met ? 'condition' : iteration === times ? 'times' : undefined
        if (ended === undefined && iteration < maxIterations) continue
        if (ended === undefined) limitReached(ctx, id, maxIterations)
        const result = accumulate === true ? history : value
        return { value: result as never, iterations: iteration, ended: ended ?? 'limit' }
      }
    },
    write: (write) => ({
      ...given({ times, maxIterations: options.maxIterations, accumulate }),
      ...(until === undefined ? {} : { until: write.expression('until', until) }),
      do: write.node(body),
    }),
    copy: (name, swap) => Loop<Body, Accumulate>({ ...options, id: name, body: swap(options.body) }),
  })
}

interface Bounds {
  readonly times?: number
  readonly until?: unknown
}

function noteOf({ times, until }: Bounds, limit: number): string {
  const condition = sourceOf(until)
  return [
    ...(times === undefined ? [] : [`${times} times`]),
    ...(until === undefined ? [] : [condition === undefined ? 'until its condition holds' : `until ${condition}`]),
    ...(limit === times ? [] : [`at most ${limit} times`]),
  ].join(', ')
}

function problemsOf({ times, until }: Bounds, limit: number): string[] {
  return [
    ...(times === undefined && until === undefined ? ['it has neither times nor until. Give one, or both.'] : []),
    ...(times === undefined ? [] : checkLimit(times, 'times')),
    ...(until === undefined ? [] : checkFunction('until', until)),
    ...(limit === times ? [] : checkLimit(limit)),
  ]
}

export const loopForm: ControlForm = {
  kind: 'loop',
  fields: {
    do: { $ref: '#/$defs/node' },
    times: { type: 'integer', minimum: 1 },
    until: expressionField(...LOOP_FACTS),
    maxIterations: { type: 'integer', minimum: 1 },
    accumulate: { type: 'boolean' },
  },
  required: ['do'],
  read: ({ id, do: body, times, until, maxIterations, accumulate }, reader) =>
    Loop({
      ...given({
        id: id as string | undefined,
        times: times as number | undefined,
        maxIterations: maxIterations as number | undefined,
        accumulate: accumulate as boolean | undefined,
      }),
      ...(until === undefined ? {} : { until: expressedCondition(reader, until, (state: LoopState) => state) }),
      body: reader.node(body),
    }),
}

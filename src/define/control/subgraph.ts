import { checkKnown } from '../../base/check-known.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { Context, InputOf, OutputOf } from '../../engine/definition.ts'
import { isDefinition, runnableOf } from '../../engine/run-node.ts'
import type { Budget } from '../../journal/events.ts'
import {
  checkFunction,
  controlNode,
  decide,
  expressed,
  expressionField,
  given,
  runPart,
  type ControlFacts,
  type ControlForm,
  type ControlNode,
} from './control.ts'
import type { Part } from './fit.ts'

export interface SubgraphOptions<Body, Input, Output> {
  readonly id?: string
  readonly body: Body
  /** What the body gets, made of the input. */
  readonly input?: (input: Input, facts: ControlFacts<Input>) => InputOf<Body> | Promise<InputOf<Body>>
  /** The result, made of what the body gave. */
  readonly output?: (output: OutputOf<Body>, facts: ControlFacts<Input>) => Output | Promise<Output>
  /** What it may spend. It is then a run of its own, inside this one's budget. */
  readonly budget?: Budget
}

/**
 * Runs something inside something else, with its input and output mapped.
 *
 * ```ts
 * import { defineNode } from 'nerve'
 * import { Loop, Subgraph } from 'nerve/control'
 *
 * const double = defineNode('double', (n: number) => n * 2)
 * export default Subgraph({
 *   id: 'grown',
 *   body: Loop({ body: double, times: 3 }),
 *   input: (order: { amount: number }) => order.amount,
 *   output: ({ value }) => ({ amount: value }),
 * })
 * ```
 */
export function Subgraph<Body extends Part, Input = InputOf<Body>, Output = OutputOf<Body>>(
  options: SubgraphOptions<Body, Input, Output>,
): ControlNode<Input, Output> {
  checkKnown('Subgraph', options, ['id', 'body', 'input', 'output', 'budget'])
  const { id = 'subgraph', body, input: make, output: convert, budget } = options
  return controlNode<Input, Output>({
    kind: 'subgraph',
    id,
    parts: { body },
    always: [body],
    ...(budget === undefined ? {} : { note: 'with a budget of its own' }),
    problems: [
      ...(make === undefined ? [] : checkFunction('input', make)),
      ...(convert === undefined ? [] : checkFunction('output', convert)),
    ],
    async run(ctx, input) {
      const facts = { input, params: ctx.params }
      const inner = make === undefined ? input : await decide(ctx, 'input', () => make(input, facts), make)
      const output = await runInside(ctx, { id, body, budget }, inner)
      if (convert === undefined) return output as Output
      return decide(ctx, 'output', () => convert(output as OutputOf<Body>, facts), convert)
    },
    write: (write) => ({
      do: write.node(body),
      ...(make === undefined ? {} : { input: write.expression('input', make) }),
      ...(convert === undefined ? {} : { output: write.expression('output', convert) }),
      ...given({ budget }),
    }),
    copy: (name, swap) => Subgraph<Body, Input, Output>({ ...options, id: name, body: swap(body) }),
  })
}

interface Inside {
  readonly id: string
  readonly body: Part
  readonly budget: Budget | undefined
}

function runInside(ctx: Context, { id, body, budget }: Inside, input: unknown): Promise<unknown> {
  const found = runnableOf(ctx, body)
  if (isDefinition(found) && (budget ?? found.options.budget) !== undefined)
    return ctx.child(found, input, { params: ctx.params, ...given({ budget }) })
  if (budget === undefined) return runPart(ctx, found, input)
  throw new NerveError(
    'bad-option',
    `subgraph '${id}' has a budget, which needs a definition as its body: a node runs as one step. Put it into a graph or a workflow.`,
  )
}

export const subgraphForm: ControlForm = {
  kind: 'subgraph',
  fields: {
    do: { $ref: '#/$defs/node' },
    input: expressionField('input', 'params'),
    output: expressionField('output', 'input', 'params'),
    budget: { $ref: '#/$defs/budget' },
  },
  required: ['do'],
  read: ({ id, do: body, input, output, budget }, reader) =>
    Subgraph<Part, unknown, unknown>({
      ...given({ id: id as string | undefined, budget: budget as Budget | undefined }),
      body: reader.node(body),
      ...(input === undefined
        ? {}
        : { input: expressed(reader, input, (_input: unknown, facts: ControlFacts) => facts) }),
      ...(output === undefined
        ? {}
        : { output: expressed(reader, output, (made: unknown, facts: ControlFacts) => ({ ...facts, output: made })) }),
    }),
}

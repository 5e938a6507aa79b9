/** Random graphs: as data, as graphs that carry them out, and as a plain function that says what must come out. */
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { defineNode, workflow, type ErrorPolicy, type Node, type StepCall } from 'nerve'
import { graph, withSteps } from 'nerve/graph'
import type { AnyDefinition, AnyNode } from '../../src/engine/definition.ts'

const KINDS = [
  'leaf',
  'leaf',
  'leaf',
  'fails',
  'skips',
  'flaky',
  'nested',
  'asks',
  'sleeps',
  'throws',
  'gives-up',
  'too-slow',
  'plans',
  'adds',
] as const

export interface RandomStep {
  readonly kind: (typeof KINDS)[number]
  /** The positions of earlier steps. */
  readonly after: readonly number[]
  readonly when: 'always' | 'never' | 'odd' | undefined
  readonly handles: boolean
  /** How long it takes: microtasks, and turns of the event loop. */
  readonly hops: number
  readonly turns: number
  /** What a step that adds steps lets them come after, beside itself: positions. */
  readonly more: readonly number[]
}

export interface RandomGraph {
  readonly steps: readonly RandomStep[]
  readonly errorPolicy: ErrorPolicy
  readonly maxParallel: number
}

export function randomGraphs(most = 9): fc.Arbitrary<RandomGraph> {
  const step = (at: number): fc.Arbitrary<RandomStep> => {
    const earlier = at === 0 ? fc.constant([]) : fc.uniqueArray(fc.nat(at - 1), { maxLength: 3 })
    return fc.record({
      kind: fc.constantFrom(...KINDS),
      after: earlier,
      when: fc.constantFrom(undefined, undefined, undefined, 'always' as const, 'never' as const, 'odd' as const),
      handles: fc.constantFrom(false, false, false, true),
      hops: fc.nat(5),
      turns: fc.constantFrom(0, 0, 0, 1, 3),
      more: earlier,
    })
  }
  return fc.integer({ min: 1, max: most }).chain((size) =>
    fc.record({
      steps: fc.tuple(...Array.from({ length: size }, (_, at) => step(at))),
      errorPolicy: fc.constantFrom<ErrorPolicy>('stop', 'skip', 'skip', 'continue'),
      maxParallel: fc.constantFrom(1, 2, 3, 100),
    }),
  )
}

/** What really ran in one life of the process. */
export class Ran {
  readonly paths: string[] = []
  /** What was wrong about when it ran. */
  readonly wrong: string[] = []
  readonly ended = new Set<string>()
  running = 0
  most = 0
}

let ran = new Ran()
/** How slow nodes are: another life of the process is faster or slower. */
let pace = 1

/** Forgets what ran: a new process, with another speed. */
export function newProcess(speed: number): Ran {
  ran = new Ran()
  pace = speed
  return ran
}

const sum = (upstream: Readonly<Record<string, unknown>>): number =>
  Object.values(upstream).reduce<number>((total, value) => total + (typeof value === 'number' ? value : 0), 0)

const idOf = (at: number): string => `s${at}`

/** A node that notes that it ran, and whether that was its time. */
function working(at: number, step: RandomStep, result: (n: number, call: StepCall) => number): Node<number, number> {
  return defineNode('work', async (input: number, call) => {
    const mine = ran
    mine.paths.push(call.path)
    for (const before of step.after)
      if (!mine.ended.has(idOf(before)) && startedIn(mine, idOf(before)))
        mine.wrong.push(`${call.path} before s${before}`)
    mine.running += 1
    mine.most = Math.max(mine.most, mine.running)
    let open = true
    const end = (): void => {
      if (open) mine.running -= 1
      open = false
    }
    // An attempt that was given up no longer counts, whatever its function still does.
    call.signal.addEventListener('abort', end)
    for (let hop = 0; hop < step.hops * pace; hop += 1) await Promise.resolve()
    for (let left = step.turns * pace; left > 0; left -= 1) await turn()
    end()
    const value = result(input + at + 1, call)
    mine.ended.add(idOf(at))
    return value
  })
}

function startedIn(one: Ran, id: string): boolean {
  return one.paths.some((path) => path === id || path.startsWith(`${id}/`))
}

const leaf = defineNode('leaf', (n: number) => n)
export const namedNodes: readonly AnyNode[] = [leaf]

function fail(): never {
  throw new Error('as it must')
}

/** What a step of each kind runs, and under which policy. */
function nodeOf(at: number, step: RandomStep): { readonly node: AnyNode | AnyDefinition; readonly policy?: object } {
  const plain = working(at, step, (n) => n)
  switch (step.kind) {
    case 'fails':
      return { node: working(at, step, () => endBadly(at)) }
    case 'skips':
      return { node: working(at, step, () => endBadly(at)), policy: { onError: { skip: 100 + at } } }
    case 'flaky':
      return {
        node: working(at, step, (n, { attempt }) => (attempt < 2 ? fail() : n)),
        policy: { attempts: 2, backoff: 10 },
      }
    case 'nested': {
      const inner = graph<number>('inner', { maxParallel: 1 })
        .step('a', plain, { inputFn: (_, { input }) => input })
        .step('b', leaf, { after: ['a'], inputFn: ({ a }) => a })
      return { node: inner.returns(({ b }) => b) }
    }
    case 'plans':
      return { node: planning(at, step) }
    default:
      return compositeOf(at, step, plain)
  }
}

function endBadly(at: number): never {
  ran.ended.add(idOf(at))
  return fail()
}

function planning(at: number, step: RandomStep): AnyNode {
  const added = [`${idOf(at)}-x`, `${idOf(at)}-y`]
  return defineNode('plan', (input: number) =>
    withSteps(input + at + 1, [
      { id: added[0] as string, node: 'leaf', input: 7, after: [idOf(at), ...step.more.map(idOf)] },
      { id: added[1] as string, node: 'leaf', input: 8, after: [added[0] as string] },
    ]),
  )
}

function compositeOf(
  at: number,
  { kind, more }: RandomStep,
  plain: Node<number, number>,
): { readonly node: AnyNode | AnyDefinition; readonly policy?: object } {
  switch (kind) {
    case 'asks':
      return {
        node: workflow('asks', async (ctx, n: number) => {
          const answer = await ctx.ask(JSON.stringify(String(n)))
          return ctx.run(plain, Number(answer))
        }),
      }
    case 'sleeps':
      return {
        node: workflow('sleeps', async (ctx, n: number) => {
          await ctx.sleep(100 * (at % 3))
          return ctx.run(plain, n)
        }),
      }
    case 'throws':
      return {
        node: workflow('throws', async (ctx, n: number) => {
          await ctx.run(plain, n)
          return fail()
        }),
      }
    case 'gives-up':
      return {
        node: workflow('gives-up', async (ctx, n: number) => {
          await Promise.all([ctx.run(plain, n), ctx.sleep(50).then(() => undefined)])
          return fail()
        }),
        policy: { attempts: 2, backoff: 10, onError: { skip: 200 + at } },
      }
    case 'too-slow':
      return {
        node: workflow('too-slow', async (ctx, n: number) => {
          await ctx.run(plain, n)
          await ctx.sleep('1h')
          return n
        }),
        policy: { timeout: '1m', onError: { fallback: () => 300 + at } },
      }
    case 'adds':
      return {
        node: workflow('adds', async (ctx, n: number) => {
          const value = await ctx.run(plain, n)
          ctx.graph?.add(`${idOf(at)}-x`, leaf, { after: more.map(idOf), inputFn: (upstream) => sum(upstream) })
          return value
        }),
      }
    default:
      return { node: plain }
  }
}

export function buildGraph({ steps, errorPolicy, maxParallel }: RandomGraph): AnyDefinition {
  const made = graph('random', { errorPolicy, maxParallel })
  for (const [at, step] of steps.entries()) {
    const { node, policy } = nodeOf(at, step)
    const { when } = step
    const options = {
      after: step.after.map(idOf),
      inputFn: sum,
      ...(policy === undefined ? {} : { policy }),
      ...(when === undefined ? {} : { when: (upstream: Record<string, unknown>) => isWanted(when, sum(upstream)) }),
      ...(step.handles ? { handles: true } : {}),
    }
    made.step(idOf(at), node, options as never)
  }
  return made
}

function isWanted(when: 'always' | 'never' | 'odd', total: number): boolean {
  return when === 'always' || (when === 'odd' && total % 2 === 1)
}

type End = { readonly state: 'done' | 'failed' | 'unwanted' | 'unreachable'; readonly value?: number }

/** What the graph must give: the results, or undefined when it fails. */
export function expectedOf({ steps, errorPolicy }: RandomGraph): Record<string, number> | undefined {
  const ends = new Map<string, End>()
  let over = false
  for (const [at, step] of steps.entries()) {
    const end = endOf(step, at, { ends, errorPolicy })
    ends.set(idOf(at), end)
    const handled = steps.some((other) => other.handles && other.after.includes(at))
    if (end.state === 'failed' && errorPolicy === 'stop' && !handled) over = true
    if (end.state !== 'done') continue
    for (const [id, after, value] of addedBy(at, step)) {
      const kept = unwanted(after, false, { ends, errorPolicy })
      ends.set(id, kept ?? { state: 'done', value: value ?? total(after, ends) })
    }
  }
  if (over) return undefined
  const results: Record<string, number> = {}
  for (const [id, { state, value }] of ends) if (state === 'done') results[id] = value as number
  return results
}

function addedBy(at: number, { kind, more }: RandomStep): [string, readonly string[], number | undefined][] {
  const id = idOf(at)
  if (kind === 'adds') return [[`${id}-x`, more.map(idOf), undefined]]
  if (kind !== 'plans') return []
  return [
    [`${id}-x`, [id, ...more.map(idOf)], 7],
    [`${id}-y`, [`${id}-x`], 8],
  ]
}

interface Known {
  readonly ends: ReadonlyMap<string, End>
  readonly errorPolicy: ErrorPolicy
}

function unwanted(after: readonly string[], handles: boolean, { ends, errorPolicy }: Known): End | undefined {
  const states = after.map((id) => ends.get(id)?.state)
  if (handles || states.length === 0) return undefined
  if (errorPolicy !== 'continue' && states.some((state) => state === 'failed' || state === 'unreachable'))
    return { state: 'unreachable' }
  return states.every((state) => state === 'unwanted') ? { state: 'unwanted' } : undefined
}

function total(after: readonly string[], ends: ReadonlyMap<string, End>): number {
  return after.reduce((so, id) => so + (ends.get(id)?.value ?? 0), 0)
}

function endOf(step: RandomStep, at: number, known: Known): End {
  const after = step.after.map(idOf)
  const kept = unwanted(after, step.handles, known)
  if (kept !== undefined) return kept
  const input = total(after, known.ends)
  if (step.when !== undefined && !isWanted(step.when, input)) return { state: 'unwanted' }
  switch (step.kind) {
    case 'fails':
    case 'throws':
      return { state: 'failed' }
    case 'skips':
      return { state: 'done', value: 100 + at }
    case 'gives-up':
      return { state: 'done', value: 200 + at }
    case 'too-slow':
      return { state: 'done', value: 300 + at }
    default:
      return { state: 'done', value: input + at + 1 }
  }
}

/** How often the function of each step runs when nothing interrupts it, for graphs that do not stop. */
export function expectedRuns(one: RandomGraph): Map<string, number> {
  const ends = new Map<string, End>()
  const counts = new Map<string, number>()
  for (const [at, step] of one.steps.entries()) {
    const end = endOf(step, at, { ends, errorPolicy: one.errorPolicy })
    ends.set(idOf(at), end)
    if ((end.state === 'done' || end.state === 'failed') && step.kind !== 'plans')
      counts.set(idOf(at), step.kind === 'flaky' || step.kind === 'gives-up' ? 2 : 1)
  }
  return counts
}

/** Graphs of steps that do not fit do not compile, and what they infer is what they say. Checked by tsc, never run. */
import {
  defineNode,
  workflow,
  type Context,
  type Definition,
  type Handle,
  type Host,
  type InputOf,
  type OutputOf,
} from 'nerve'
import { agentGraph, type AgentTask } from 'nerve/agents'
import { graph } from 'nerve/graph'
import type { Equal, Expect } from './equal.ts'

interface Note {
  readonly title: string
  readonly size: number
}

const search = defineNode('search', (topic: string): Note[] => [{ title: topic, size: topic.length }])
const count = defineNode('count', (notes: readonly Note[]) => notes.length)
const shout = defineNode('shout', (text: string) => text.toUpperCase())
const nothing = defineNode('nothing', () => true)
const json = defineNode('json', (text: string) => JSON.stringify(text))
const flow = workflow('flow', async (ctx, n: number) => ctx.step('a', () => ({ n })))

const research = graph<{ topic: string }>('research')
  .step('notes', search, { inputFn: (_, { input }) => input.topic })
  .step('size', count, { after: ['notes'], inputFn: ({ notes }) => notes })
  .step('flow', flow, { after: ['size'], inputFn: ({ size }) => size })
  .step('title', shout, { after: ['notes', 'size'], inputFn: ({ notes, size }) => notes[size]?.title ?? '' })
  .step('fixed', shout, { input: 'text' })
  .step('ready', nothing)

type Results = OutputOf<typeof research>
export type Inferred = [
  Expect<Equal<InputOf<typeof research>, { topic: string }>>,
  Expect<Equal<Results['notes'], Note[]>>,
  Expect<Equal<Results['size'], number>>,
  Expect<Equal<Results['flow'], { n: number }>>,
  Expect<Equal<Results['title'], string>>,
  Expect<Equal<Results['ready'], boolean>>,
  Expect<Equal<keyof Results, 'notes' | 'size' | 'flow' | 'title' | 'fixed' | 'ready'>>,
]

/** Nested graphs give nested results, as deep as they go. */
const nested = graph<string>('nested')
  .step('inner', research, { inputFn: (_, { input }) => ({ topic: input }) })
  .step('deep', graph<number>('deep').step('flow', flow, { inputFn: (_, { input }) => input }), {
    after: ['inner'],
    inputFn: ({ inner }) => inner.flow.n,
  })
  .step('join', count, { after: ['inner', 'deep'], inputFn: ({ inner, deep }) => inner.notes.slice(deep.flow.n) })
export type Nested = [
  Expect<Equal<OutputOf<typeof nested>['inner']['notes'], Note[]>>,
  Expect<Equal<OutputOf<typeof nested>['deep']['flow'], { n: number }>>,
]

/** A step with a condition may have no result. */
const conditional = graph<boolean>('conditional')
  .step('maybe', shout, { input: 'a', when: (_, { input }) => input })
  .step('always', shout, { after: ['maybe'], inputFn: ({ maybe }) => maybe ?? 'none' })
export type Conditional = [
  Expect<Equal<OutputOf<typeof conditional>['maybe'], string | undefined>>,
  Expect<Equal<OutputOf<typeof conditional>['always'], string>>,
]

/** A parser makes the step's result; a reference says what it is. */
const parsed = graph('parsed')
  .step('json', json, { input: 'a', parser: (text): Note => JSON.parse(text) as Note })
  .ref<Note[]>('named', 'search', { input: 'topic' })
  .ref('unknown', 'search')
  .step('size', count, { after: ['json', 'named'], inputFn: ({ json: one, named }) => [one, ...named] })
export type Parsed = [
  Expect<Equal<OutputOf<typeof parsed>['json'], Note>>,
  Expect<Equal<OutputOf<typeof parsed>['named'], Note[]>>,
  Expect<Equal<OutputOf<typeof parsed>['unknown'], unknown>>,
]

const returning = research.returns(({ size }, { input }) => `${input.topic}: ${size.toFixed()}`)
export type Returning = Expect<Equal<OutputOf<typeof returning>, string>>

/** The seeds' spelling infers the same. */
const seeds = graph<string>('seeds')
  .addStep(search, 'notes', { inputFn: (_, { input }) => input })
  .addStep(count, 'size', { dependsOn: ['notes'], inputFn: ({ notes }) => notes })
export type Seeds = Expect<Equal<OutputOf<typeof seeds>['size'], number>>

const start = graph<string>('start')
  .step('notes', search, { inputFn: (_, { input }) => input })
  .step('size', count, { after: ['notes'], inputFn: ({ notes }) => notes })

// @ts-expect-error -- there is no step of that name
start.step('a', nothing, { after: ['note'] })
// @ts-expect-error -- a step cannot come after itself: it is not there yet
start.step('a', nothing, { after: ['a'] })
// @ts-expect-error -- the seeds' spelling does not know it either
start.addStep(nothing, 'a', { dependsOn: ['note'] })
// @ts-expect-error -- nor can it be chained
start.chain('notes', 'sizes')
// @ts-expect-error -- the input is text
start.step('a', shout, { input: 1 })
// @ts-expect-error -- the list has other things in it
start.step('a', count, { input: [{ title: 'a' }] })
// @ts-expect-error -- the input that is made of the results is a number, and text is wanted
start.step('a', shout, { after: ['size'], inputFn: ({ size }) => size })
// @ts-expect-error -- the graph's own input is text, and has no such field
start.step('a', shout, { inputFn: (_, { input }) => input.topic })
// @ts-expect-error -- the input of a definition is checked in the same way
start.step('a', flow, { input: 'one' })
// @ts-expect-error -- 'notes' is not among what it comes after, so its result is not there
start.step('a', count, { after: ['size'], inputFn: ({ notes }) => notes })
// @ts-expect-error -- nor is it without any
start.step('a', count, { inputFn: ({ notes }) => notes })
// @ts-expect-error -- a condition sees only what the step comes after, too
start.step('a', nothing, { after: ['size'], when: ({ notes }) => notes.length > 0 })
// @ts-expect-error -- a condition is true or false
start.step('a', nothing, { after: ['size'], when: ({ size }) => size })
// @ts-expect-error -- the parser gets what the node returns, which is a number
start.step('a', count, { input: [], parser: (text: string) => text })
// @ts-expect-error -- what is skipped to must be a result of the node
start.step('a', count, { input: [], policy: { onError: { skip: 'none' } } })
// @ts-expect-error -- there is no such option
start.step('a', count, { input: [], retries: 3 })
// @ts-expect-error -- a function is not a node
start.step('a', (text: string) => text)
// @ts-expect-error -- the result of a conditional step may be missing
conditional.step('b', shout, { after: ['maybe'], inputFn: ({ maybe }) => maybe })
// @ts-expect-error -- the results of a nested graph have its steps, and no others
nested.step('b', count, { after: ['inner'], inputFn: ({ inner }) => inner.pages })
// @ts-expect-error -- what a reference gives is not known unless it is said
parsed.step('b', count, { after: ['unknown'], inputFn: ({ unknown }) => unknown })
// @ts-expect-error -- what is returned is made of results that are there
research.returns(({ pages }) => pages)
// @ts-expect-error -- there is no such policy
graph('odd', { errorPolicy: 'ignore' })

export async function running(host: Host, ctx: Context): Promise<void> {
  const run: Handle<Results> = await host.start(research, { topic: 'x' })
  void ((await run.result()).size satisfies number)
  void ((await ctx.run(research, { topic: 'x' })).notes satisfies Note[])
  void ((await ctx.run(returning, { topic: 'x' })) satisfies string)
  // @ts-expect-error -- the topic is text
  await host.start(research, { topic: 1 })
  // @ts-expect-error -- and it is needed
  await ctx.run(research, {})
  // @ts-expect-error -- there is no such result
  void (await run.result()).pages
}

/** A graph is a definition of its input and its results. */
export const asDefinition: Definition<{ topic: string }, Results> = research

const lint = defineNode('lint', ({ target }: AgentTask<string>) => target.length)
const report = workflow('report', async (_ctx, { upstream }: AgentTask<{ to: string }>) => Object.keys(upstream))
const team = agentGraph<{ file: string }>('team')
  .agent('lint', { bundle: lint, targetFn: (_, { input }) => input.file })
  .agent('report', { bundle: report, target: { to: 'us' } })
  .agent('named', { bundle: 'anything', target: 1 })
  .after('lint')
  .run('report')
export type Team = [
  Expect<Equal<OutputOf<typeof team>['lint'], number>>,
  Expect<Equal<OutputOf<typeof team>['report'], string[]>>,
  Expect<Equal<OutputOf<typeof team>['named'], unknown>>,
  Expect<Equal<InputOf<typeof team>, { file: string }>>,
]

// @ts-expect-error -- there is no agent of that name
team.after('lnt').run('report')
// @ts-expect-error -- nor of that
team.after(['lint']).run('reports')
// @ts-expect-error -- nor of that
team.runSequential('lint', 'tests')
// @ts-expect-error -- the agent works on text
team.agent('other', { bundle: lint, target: 1 })
// @ts-expect-error -- also when the target is made
team.agent('other', { bundle: lint, targetFn: (_, { input }) => input })
// @ts-expect-error -- a node of a graph is not an agent: it takes no task
team.agent('other', { bundle: shout })
// @ts-expect-error -- an agent has a bundle
team.agent('other', { target: 1 })
// @ts-expect-error -- a handler decides in one of the ways that there are
team.onBlocked(() => ({ retry: true }))

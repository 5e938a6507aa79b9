/** The authoring contract compiles to the letter, and what it infers is what it says. Checked by tsc, never run. */
import { z } from 'zod'
import {
  createHost,
  defineNode,
  workflow,
  type Context,
  type Definition,
  type Handle,
  type InputOf,
  type Schema,
} from 'nerve'
import type { Equal, Expect } from './equal.ts'

declare function search(topic: string, key: string): Promise<string[]>
declare function write(notes: string[][]): Promise<string>
declare function plain(notes: string[][]): string
declare function post(text: string, key: string): Promise<void>

const publish = workflow('publish', { budget: { usd: 2 } }, async (ctx, input: { topic: string }) => {
  const notes = await ctx.all(['a', 'b'].map((k) => () => ctx.step(`search-${k}`, () => search(input.topic, k))))
  const text = await ctx.step('write', () => write(notes), {
    attempts: 3,
    timeout: '2m',
    onError: { fallback: () => plain(notes) },
  })
  const answer = await ctx.ask('Publish this?', {
    choices: ['publish', 'revise'],
    deadline: '2d',
    onDeadline: { default: 'revise' },
  })
  if (answer === 'publish') await ctx.step('publish', ({ key }) => post(text, key), { effect: 'once' })
  return { text, answer }
})

export default publish

export type PublishIs = Expect<
  Equal<typeof publish, Definition<{ topic: string }, { text: string; answer: 'publish' | 'revise' }>>
>

/** Every member of ctx that the contract names, and no other. */
type Members =
  | 'input'
  | 'params'
  | 'runId'
  | 'signal'
  | 'step'
  | 'ask'
  | 'gate'
  | 'waitFor'
  | 'sleep'
  | 'now'
  | 'random'
  | 'uuid'
  | 'emit'
  | 'all'
  | 'map'
  | 'race'
  | 'scope'
  | 'graph'
  | 'run'
  | 'child'
  | 'messages'
  | 'usage'
  | 'checkpoint'
export type ContextHas = Expect<Equal<keyof Context, Members>>

const double = workflow('double', (_ctx, n: number) => n * 2)
const nothing = workflow('nothing', () => 'done')
declare const day: Schema<Date>
declare const amount: Schema<number>

export const inference = workflow('inference', async (ctx, input: { readonly id: string }) => {
  const stepped = await ctx.step('sync', () => 1)
  const promised = await ctx.step('async', async () => ({ deep: ['x'] }))
  const tuple = await ctx.all([() => ctx.step('a', () => 1), async () => 'two', () => true] as const)
  const literal = await ctx.all([() => ctx.step('a', () => 1), () => 'two'])
  const mapped = await ctx.map([1, 2], (item, index) => `${item.toFixed()}${index.toFixed()}`, {
    key: (item) => String(item),
    concurrency: 2,
  })
  const raced = await ctx.race([() => ctx.step('a', () => 1), () => ctx.step('b', () => 2)])
  const either = await ctx.race([
    () => ctx.step('a', () => 1),
    () => ctx.waitFor<string>('stop'),
    () => ctx.sleep('5m'),
  ])
  const said = await ctx.race<number | string>([() => 1, () => 'two'])
  const chosen = await ctx.ask('Which?', { choices: ['left', 'right'] })
  const free = await ctx.ask('What?')
  const typed = await ctx.ask('When?', { schema: day })
  const gate = await ctx.gate('Go?')
  const ownGate = await ctx.gate('Go?', { choices: ['now', 'later'] })
  const signal = await ctx.waitFor('go')
  const typedSignal = await ctx.waitFor('pay', { schema: amount, deadline: '1h' })
  const child = await ctx.child(double, 2)
  const messages = await ctx.messages()
  const slept = await ctx.sleep('1h')
  return {
    input: ctx.input,
    id: input.id,
    stepped,
    promised,
    tuple,
    literal,
    mapped,
    raced,
    either,
    said,
    chosen,
    free,
    typed,
    gate,
    ownGate,
    signal,
    typedSignal,
    child,
    messages,
    slept,
  }
})

type Inferred =
  typeof inference extends Definition<infer Input, infer Output> ? { input: Input; output: Output } : never
type Result = Inferred['output']
export type Inferences = [
  Expect<Equal<Inferred['input'], { readonly id: string }>>,
  Expect<Equal<Result['input'], { readonly id: string }>>,
  Expect<Equal<Result['stepped'], number>>,
  Expect<Equal<Result['promised'], { deep: string[] }>>,
  Expect<Equal<Result['tuple'], [number, string, boolean]>>,
  Expect<Equal<Result['literal'], [number, string]>>,
  Expect<Equal<Result['mapped'], string[]>>,
  Expect<Equal<Result['raced'], number>>,
  Expect<Equal<Result['either'], number | string | void>>,
  Expect<Equal<Result['said'], number | string>>,
  Expect<Equal<Result['chosen'], 'left' | 'right'>>,
  Expect<Equal<Result['free'], string>>,
  Expect<Equal<Result['typed'], Date>>,
  Expect<Equal<Result['gate'], 'approve' | 'reject'>>,
  Expect<Equal<Result['ownGate'], 'now' | 'later'>>,
  Expect<Equal<Result['signal'], unknown>>,
  Expect<Equal<Result['typedSignal'], number>>,
  Expect<Equal<Result['child'], number>>,
  Expect<Equal<Result['messages'], unknown[]>>,
]

export const fromSchema = workflow('from-schema', { input: amount, params: { speed: 1 } }, (ctx, input) => [
  input.toFixed(),
  ctx.params['speed'],
])
export type SchemaInput = Expect<
  Equal<typeof fromSchema extends Definition<infer Input, unknown> ? Input : never, number>
>

/** What a schema takes is not what it gives: it may convert, and have defaults. */
const lenient = z.object({ pages: z.string().transform(Number), tone: z.string().default('dry') })
export const converted = workflow('converted', { input: lenient }, async (ctx, input) => [
  input.pages satisfies number,
  ctx.input.tone satisfies string,
])
const convertedNode = defineNode('converted-node', (input) => input.pages satisfies number, { input: lenient })
type Lenient = { pages: string; tone?: string | undefined }
export type Given = [
  Expect<Equal<InputOf<typeof converted>, Lenient>>,
  Expect<Equal<InputOf<typeof convertedNode>, Lenient>>,
]

export async function wrongUses(ctx: Context<{ topic: string }>): Promise<void> {
  // @ts-expect-error -- the input has no such field
  void ctx.input.subject
  // @ts-expect-error -- a number is wanted
  await ctx.child(double, 'two')
  // @ts-expect-error -- a step needs a function, not a promise
  await ctx.step('a', Promise.resolve(1))
  // @ts-expect-error -- a step needs a label
  await ctx.step(() => 1)
  // @ts-expect-error -- all needs functions, not promises
  await ctx.all([ctx.step('a', () => 1)])
  // @ts-expect-error -- what is skipped to must be a result of the step
  await ctx.step('a', () => 1, { onError: { skip: 'text' } })
  // @ts-expect-error -- so must what the fallback returns
  await ctx.step('a', () => 1, { onError: { fallback: () => 'text' } })
  // @ts-expect-error -- there is no such effect
  await ctx.step('a', () => 1, { effect: 'twice' })
  // @ts-expect-error -- there is no such way
  await ctx.step('a', () => 1, { onError: 'ignore' })
  // @ts-expect-error -- attempts are a number
  await ctx.step('a', () => 1, { attempts: '3' })
  // @ts-expect-error -- there is no such option
  await ctx.step('a', () => 1, { retries: 3 })
  const answer = await ctx.ask('Which?', { choices: ['left', 'right'] })
  // @ts-expect-error -- this is none of the choices
  if (answer === 'up') return
  // @ts-expect-error -- there is no such thing to spend
  await ctx.step('a', ({ usage }) => usage({ euros: 1 }))
  // @ts-expect-error -- what a step received cannot be written to
  await ctx.step('a', (call) => (call.attempt = 2))
}

export async function hosting(): Promise<void> {
  const host = await createHost({ store: 'memory', definitions: [publish, double] })
  const run = await host.start(publish, { topic: 'x' })
  const result = await run.result()
  const handle: Handle<{ text: string; answer: 'publish' | 'revise' }> = run
  void (result.answer satisfies 'publish' | 'revise')
  void handle
  void (await host.start(nothing))
  await host.start(double, 2, { budget: { usd: 1, depth: 2 }, params: { any: 1 } })
  // @ts-expect-error -- the topic is text
  await host.start(publish, { topic: 1 })
  // @ts-expect-error -- the topic is missing
  await host.start(publish, {})
  // @ts-expect-error -- there is no such budget
  await host.start(double, 2, { budget: { euros: 1 } })
  await host.start(converted, { pages: '3' })
  // @ts-expect-error -- it takes a text, and makes a number of it
  await host.start(converted, { pages: 3 })
  // @ts-expect-error -- there is no such store
  await createHost({ store: 'redis' })
  const { runs, inbox, replay, export: out, import: into, gc, close } = host
  void [runs, inbox, replay, out, into, gc, close]
  const { events, pause, resume, interrupt, cancel, fork, answer, signal } = run
  void [events, pause, resume, interrupt, cancel, fork, answer, signal]
}

// @ts-expect-error -- a workflow needs a function
workflow('none', { budget: { usd: 1 } })
// @ts-expect-error -- there is no such option
workflow('odd', { bugdet: { usd: 1 } }, () => 1)
// @ts-expect-error -- the output does not fit its schema
workflow('wrong', { output: amount }, () => 'text')

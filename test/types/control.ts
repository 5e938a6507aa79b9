/** Control nodes around the wrong nodes do not compile, and what they infer is what they say. Checked by tsc, never run. */
import { defineNode, workflow, type InputOf, type OutputOf, type Schema } from 'nerve'
import {
  Branch,
  Fork,
  Gate,
  Loop,
  Map,
  Parallel,
  Race,
  Reduce,
  Subgraph,
  Switch,
  While,
  type Forked,
  type LoopResult,
  type Settled,
} from 'nerve/control'
import { graph } from 'nerve/graph'
import type { Equal, Expect } from './equal.ts'

const double = defineNode('double', (n: number) => n * 2)
const shout = defineNode('shout', (text: string) => text.toUpperCase())
const length = defineNode('length', (text: string) => text.length)
const either = defineNode('either', (one: string | number) => String(one))
const nothing = defineNode('nothing', () => true)
const named = defineNode('named', (one: { name: string }) => one.name)
const aged = defineNode('aged', (one: { age: number }) => one.age)
const add = defineNode('add', (one: { accumulator: number; item: number; index: number }) => one.accumulator + one.item)
const append = defineNode('append', (one: { accumulator: number; item: number }) => [one.item])
const steps = workflow('steps', async (ctx, text: string) => ctx.step('a', () => text.length))
const pages = graph<string>('pages').step('size', length, { inputFn: (_, { input }) => input })
declare const day: Schema<Date>
declare const word: string

const whiles = While({ condition: ({ value, iteration, history }) => value + iteration < history.length, body: double })
const loops = Loop({ body: double, until: ({ value, history }) => value > history.length })
const lists = Loop({ body: shout, times: 2, accumulate: true })
const byName = Loop({ body: 'anything', until: ({ value }) => value === 1 })
export type Loops = [
  Expect<Equal<InputOf<typeof whiles>, number>>,
  Expect<Equal<OutputOf<typeof whiles>, LoopResult<number>>>,
  Expect<Equal<OutputOf<typeof loops>, LoopResult<number>>>,
  Expect<Equal<OutputOf<typeof lists>, LoopResult<string[]>>>,
  Expect<Equal<InputOf<typeof byName>, unknown>>,
]

const branch = Branch({ condition: (n) => n > 1, then: double, else: either })
const passing = Branch({ condition: (one, { params }) => one === params['on'], then: either })
const relaxed = Branch({ condition: (n) => n > 1, then: double, else: nothing })
const both = Branch({ condition: ({ age }) => age > 1, then: named, else: aged })
export type Branches = [
  Expect<Equal<InputOf<typeof branch>, number>>,
  Expect<Equal<OutputOf<typeof branch>, number | string>>,
  Expect<Equal<InputOf<typeof passing>, string | number>>,
  Expect<Equal<OutputOf<typeof passing>, string | number>>,
  Expect<Equal<InputOf<typeof relaxed>, number>>,
  Expect<Equal<InputOf<typeof both>, { name: string } & { age: number }>>,
]

const choice = Switch({ key: (text) => (text === '' ? 'none' : 'some'), cases: { none: nothing, some: length } })
const open = Switch({ key: (text) => text, cases: { a: length, b: shout }, default: nothing })
export type Switches = [
  Expect<Equal<InputOf<typeof choice>, string>>,
  Expect<Equal<OutputOf<typeof choice>, boolean | number>>,
  Expect<Equal<InputOf<typeof open>, string>>,
  Expect<Equal<OutputOf<typeof open>, boolean | number | string>>,
]

const map = Map({ body: length, key: (text, index) => text + index })
const skips = Map({ body: steps, onError: 'skip' })
const collects = Map({ body: pages, onError: 'collect' })
const sum = Reduce({ body: add, initial: 0 })
export type Lists = [
  Expect<Equal<InputOf<typeof map>, readonly string[]>>,
  Expect<Equal<OutputOf<typeof map>, number[]>>,
  Expect<Equal<OutputOf<typeof skips>, (number | undefined)[]>>,
  Expect<Equal<OutputOf<typeof collects>[number] extends Settled<infer One> ? One : never, { readonly size: number }>>,
  Expect<Equal<InputOf<typeof sum>, readonly number[]>>,
  Expect<Equal<OutputOf<typeof sum>, number>>,
]

const all = Parallel({ branches: { length, shout, nothing } })
const tuple = Parallel({ branches: [length, shout] })
const first = Parallel({ branches: { length, shout }, mode: 'first' })
const settled = Parallel({ branches: { length, shout }, mode: 'settle' })
const merged = Parallel({ branches: { length, shout }, merge: (found) => [found.length, found.shout.trim()] as const })
const merging = Parallel({ branches: [length, steps], mode: 'settle', merge: ([a, b]) => a.status === b.status })
const race = Race({ branches: { length, shout } })
const listed = Race({ branches: [length, shout] })
export type Parallels = [
  Expect<Equal<InputOf<typeof all>, string>>,
  Expect<Equal<OutputOf<typeof all>, { length: number; shout: string; nothing: boolean }>>,
  Expect<Equal<OutputOf<typeof tuple>, [number, string]>>,
  Expect<Equal<OutputOf<typeof first>, number | string>>,
  Expect<Equal<OutputOf<typeof settled>, { length: Settled<number>; shout: Settled<string> }>>,
  Expect<Equal<OutputOf<typeof merged>, readonly [number, string]>>,
  Expect<Equal<OutputOf<typeof merging>, boolean>>,
  Expect<
    Equal<
      OutputOf<typeof race>,
      { readonly winner: 'length'; readonly value: number } | { readonly winner: 'shout'; readonly value: string }
    >
  >,
  Expect<Equal<OutputOf<typeof listed>, { readonly winner: number; readonly value: number | string }>>,
]

const gate = Gate({ prompt: 'Go?' })
const chosen = Gate({ prompt: (one: { title: string }) => one.title, choices: ['a', 'b'], deadline: '1h' })
const typed = Gate({ prompt: 'When?', schema: day })
const fork = Fork({ from: double, to: 'double-{run_id}' })
const sub = Subgraph({ body: pages, input: (one: { text: string }) => one.text, output: ({ size }) => size > 1 })
const plain = Subgraph({ body: steps, budget: { usd: 1 } })
export type Others = [
  Expect<Equal<InputOf<typeof gate>, unknown>>,
  Expect<Equal<OutputOf<typeof gate>, 'approve' | 'reject'>>,
  Expect<Equal<InputOf<typeof chosen>, { title: string }>>,
  Expect<Equal<OutputOf<typeof chosen>, 'a' | 'b'>>,
  Expect<Equal<OutputOf<typeof typed>, Date>>,
  Expect<Equal<OutputOf<typeof fork>, Forked>>,
  Expect<Equal<InputOf<typeof sub>, { text: string }>>,
  Expect<Equal<OutputOf<typeof sub>, boolean>>,
  Expect<Equal<InputOf<typeof plain>, string>>,
  Expect<Equal<OutputOf<typeof plain>, number>>,
]

/** They are steps of graphs like everything else. */
export const inGraph = graph<readonly string[]>('in-graph')
  .step('sizes', map, { inputFn: (_, { input }) => input })
  .step('sum', sum, { after: ['sizes'], inputFn: ({ sizes }) => sizes })
  .step('last', loops, { after: ['sum'], inputFn: ({ sum: one }) => one })
export const inWorkflow = workflow('in-workflow', async (ctx, input: readonly string[]) => {
  const found = await ctx.run(inGraph, input)
  return found.last.value.toFixed()
})

export function wrongUses(): void {
  // @ts-expect-error -- its output is not an input for it
  Loop({ body: length, times: 2 })
  // @ts-expect-error -- nor here
  While({ condition: () => true, body: length })
  // @ts-expect-error -- a condition gives true or false
  While({ condition: ({ value }) => value + 1, body: double })
  // @ts-expect-error -- the value is a number
  Loop({ body: double, until: ({ value }) => value.trim() === '' })
  // @ts-expect-error -- there is no such field
  Loop({ body: double, until: ({ count }) => count === 1 })
  // @ts-expect-error -- a body is a node, a definition or a name
  Loop({ body: (n: number) => n, times: 2 })
  // @ts-expect-error -- there is no such option
  Loop({ body: double, times: 2, limit: 3 })
  // @ts-expect-error -- no input fits both
  Branch({ condition: () => true, then: double, else: shout })
  // @ts-expect-error -- the input is a number
  Branch({ condition: (text: string) => text === '', then: double })
  // @ts-expect-error -- a condition gives true or false
  Branch({ condition: () => 'yes', then: double })
  // @ts-expect-error -- there is no such case
  Switch({ key: () => 'c', cases: { a: length, b: shout } })
  // @ts-expect-error -- a text that may be anything needs a default
  Switch({ key: () => word, cases: { a: length, b: shout } })
  // @ts-expect-error -- no input fits both
  Switch({ key: () => 'a', cases: { a: length, b: double } })
  // @ts-expect-error -- nor the default
  Switch({ key: () => 'a', cases: { a: length }, default: double })
  // @ts-expect-error -- there is no such policy
  Map({ body: length, onError: 'ignore' })
  // @ts-expect-error -- items are texts
  Map({ body: length, key: (item: number) => item.toFixed() })
  // @ts-expect-error -- the body does not give an accumulator that it takes
  Reduce({ body: append, initial: [] })
  // @ts-expect-error -- the accumulator is a number
  Reduce({ body: add, initial: '0' })
  // @ts-expect-error -- a reduction has no such input
  Reduce({ body: length, initial: 0 })
  // @ts-expect-error -- no input fits both
  Parallel({ branches: { length, double } })
  // @ts-expect-error -- nor in a list
  Parallel({ branches: [length, double] })
  // @ts-expect-error -- there is no such mode
  Parallel({ branches: { length }, mode: 'some' })
  // @ts-expect-error -- there is no such branch
  Parallel({ branches: { length }, merge: ({ shout: one }) => one })
  // @ts-expect-error -- no input fits both
  Race({ branches: { length, double } })
  // @ts-expect-error -- the default is none of the choices
  Gate({ prompt: 'Go?', choices: ['a', 'b'], deadline: '1h', onDeadline: { default: 'c' } })
  // @ts-expect-error -- a prompt is a text
  Gate({ prompt: () => 1 })
  // @ts-expect-error -- a copy needs a name
  Fork({ from: double })
  // @ts-expect-error -- the body takes a text
  Subgraph({ body: pages, input: (n: number) => n })
  // @ts-expect-error -- it has no such result
  Subgraph({ body: pages, output: ({ count }) => count })
  // @ts-expect-error -- the sizes are numbers
  graph<readonly number[]>('wrong').step('sizes', map, { inputFn: (_, { input }) => input })
}

/** Ready nodes: what they take and give. */
import { bash, http, identity, type BashResult, type HttpResult } from 'nerve/nodes'
import type { InputOf, OutputOf, Schema } from 'nerve'
import type { Equal } from './equal.ts'

// Without a command or an address, the input is it.
const shell = bash('shell', { timeout: '1m' })
export const command: Equal<InputOf<typeof shell>, string> = true
const get = http('get')
export const address: Equal<InputOf<typeof get>, string> = true

// With one, the input is what its functions take.
const count = bash('count', { command: (text: { word: string }) => text.word, stdin: (text) => text.word })
export const counted: Equal<InputOf<typeof count>, { word: string }> = true
export const result: Equal<OutputOf<typeof count>, BashResult> = true
const fixed = bash('fixed', { command: 'ls' })
export const anything: Equal<InputOf<typeof fixed>, unknown> = true

// A schema says what the body is.
declare const schema: Schema<{ n: number }>
const post = http('post', { url: (id: number) => `http://127.0.0.1/${id}`, method: 'POST', schema })
export const body: Equal<OutputOf<typeof post>, HttpResult<{ n: number }>> = true
export const id: Equal<InputOf<typeof post>, number> = true

const same = identity<Date>('same')
export const kept: Equal<OutputOf<typeof same>, Date> = true

// @ts-expect-error -- there is no such sandbox
bash('wrong', { sandbox: 'docker' })
// @ts-expect-error -- there is no such option
bash('wrong', { timeuot: '1s' })

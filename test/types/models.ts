/** What model nodes infer from their options. Checked by tsc, never run. */
import type { Definition, OutputOf, Schema } from 'nerve'
import { chat, llm, tool, type Chat, type Prompt } from 'nerve/models'
import type { Equal, Expect } from './equal.ts'

declare const person: Schema<{ name: string }>

const plain = llm('plain', { model: 'openai:x' })
const structured = llm('structured', { model: 'openai:x', schema: person })
const prompted = llm('prompted', { model: 'openai:x', prompt: ({ topic }: { topic: string }) => `About ${topic}.` })
const both = llm('both', { model: 'openai:x', schema: person, prompt: (n: number) => `${n}` })
const helper = chat('helper', { model: 'openai:x' })

export type Checks = [
  Expect<Equal<typeof plain, Definition<Prompt, string>>>,
  Expect<Equal<typeof structured, Definition<Prompt, { name: string }>>>,
  Expect<Equal<typeof prompted, Definition<{ topic: string }, string>>>,
  Expect<Equal<typeof both, Definition<number, { name: string }>>>,
  Expect<Equal<typeof helper, Chat<Prompt, string>>>,
  Expect<Equal<OutputOf<typeof helper>, string>>,
]

tool(both, { description: 'x', approval: (n) => n > 1 })
tool(({ a }: { a: string }) => a, { name: 'x', description: 'x', input: { type: 'object' } })
// @ts-expect-error -- The function takes a text, and the schema gives an object.
tool((text: string) => text, { name: 'x', description: 'x', input: person })
// @ts-expect-error -- A model is needed.
llm('none', {})

/**
 * Search in parallel, write with a policy, ask, publish once.
 *
 *     nerve run examples/publish.ts --input '{"topic":"moss"}'
 *
 * In a terminal the question is asked there. Without one the run parks: `nerve inbox`, then `nerve answer QUESTION publish`.
 */
import { workflow } from 'nerve'

const SHELVES: Readonly<Record<string, string>> = { a: 'the library', b: 'the archive' }

async function search(topic: string, shelf: string): Promise<string> {
  return `what ${SHELVES[shelf] ?? 'somebody'} has on ${topic}`
}

async function write(notes: readonly string[]): Promise<string> {
  return `An essay made of ${notes.join(' and ')}.`
}

function plain(notes: readonly string[]): string {
  return notes.join('\n')
}

/** A real one would hand `key` to the service, so that posting twice is noticed there. */
async function post(text: string, key: string): Promise<{ characters: number; key: string }> {
  return { characters: text.length, key }
}

export default workflow('publish', { budget: { usd: 2 } }, async (ctx, input: { topic: string }) => {
  const notes = await ctx.all(['a', 'b'].map((k) => () => ctx.step(`search-${k}`, () => search(input.topic, k))))
  const text = await ctx.step('write', () => write(notes), {
    attempts: 3,
    timeout: '2m',
    onError: { fallback: () => plain(notes) },
  })
  const answer = await ctx.ask('Publish this?', {
    choices: ['publish', 'revise'],
    detail: { text },
    deadline: '2d',
    onDeadline: { default: 'revise' },
  })
  if (answer === 'publish') await ctx.step('publish', ({ key }) => post(text, key), { effect: 'once' })
  return { text, answer }
})

/**
 * Scripts that are said in the prompt: whatever agent is told one, its model follows it. So a test of an agent says in one place
 * what the agent is asked and what its model answers.
 */
import type { ModelRequest } from '../gateway/exchange.ts'
import type { ScriptFunction, ScriptStep } from '../gateway/script/script.ts'

/** In what is said: how many such prompts the model was shown, and how many replies of its own. */
export const COUNT = '{{prompts}}'
export const REPLIES = '{{replies}}'

const OPEN = '<script>'
const CLOSE = '</script>'
const SCRIPT = /<script>([^]*?)<\/script>/g

export function scriptPrompt(...steps: readonly ScriptStep[]): string {
  return `Please follow this. ${OPEN}${JSON.stringify(steps)}${CLOSE}`
}

/** The steps that a prompt says; undefined when it says none. */
export function stepsIn(text: string): readonly ScriptStep[] | undefined {
  const last = [...text.matchAll(SCRIPT)].at(-1)?.[1]
  return last === undefined ? undefined : (JSON.parse(last) as readonly ScriptStep[])
}

/** For the scripted back end of a gateway. Requests without such a prompt (titles, summaries) are answered with a word. */
export const promptedScript: ScriptFunction = (request, view) => {
  const { steps, at } = besideResults(request) ?? { steps: stepsIn(view.user), at: view.step }
  if (steps === undefined || request.tools.length === 0) return { say: 'A scripted session' }
  const step = steps[at] ?? { say: 'The script has ended.' }
  if (step.say === undefined) return step
  const replies = request.messages.filter(({ role }) => role === 'assistant').length
  const say = step.say
    .replaceAll(COUNT, String(promptsIn(request)))
    .replaceAll(REPLIES, String(replies))
    .replaceAll('{{last}}', view.last)
  return { ...step, say }
}

/** A prompt after a turn that was broken off comes in one message with what its tools gave. It is new all the same. */
function besideResults({
  messages,
}: ModelRequest): { readonly steps: readonly ScriptStep[]; readonly at: number } | undefined {
  const message = messages.findLast(({ role, parts }) => role === 'user' && parts.some(({ type }) => type === 'text'))
  if (message?.parts.some(({ type }) => type === 'tool-result') !== true) return undefined
  const steps = stepsIn(message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n'))
  const after = messages.slice(messages.indexOf(message) + 1)
  return steps && { steps, at: after.filter(({ role }) => role === 'assistant').length }
}

function promptsIn({ messages }: ModelRequest): number {
  let found = 0
  for (const { role, parts } of messages)
    for (const part of parts)
      if (role === 'user' && part.type === 'text') found += [...part.text.matchAll(SCRIPT)].length
  return found
}

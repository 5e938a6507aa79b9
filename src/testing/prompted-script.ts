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
  const steps = stepsIn(view.user)
  if (steps === undefined || request.tools.length === 0) return { say: 'A scripted session' }
  const step = steps[view.step] ?? { say: 'The script has ended.' }
  if (step.say === undefined) return step
  const replies = request.messages.filter(({ role }) => role === 'assistant').length
  const say = step.say.replaceAll(COUNT, String(promptsIn(request))).replaceAll(REPLIES, String(replies))
  return { ...step, say }
}

function promptsIn({ messages }: ModelRequest): number {
  let found = 0
  for (const { role, parts } of messages)
    for (const part of parts)
      if (role === 'user' && part.type === 'text') found += [...part.text.matchAll(SCRIPT)].length
  return found
}

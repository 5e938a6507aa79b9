/**
 * Scripts that are said in the prompt: whatever agent is told one, its model follows it. So a test of an agent says in one place
 * what the agent is asked and what its model answers.
 */
import type { ModelRequest } from '../gateway/exchange.ts'
import type { ScriptFunction, ScriptStep } from '../gateway/script/script.ts'

/** A step that says how many such prompts the model was shown. */
export const COUNT = '{{prompts}}'

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
  return step.say === undefined ? step : { ...step, say: step.say.replaceAll(COUNT, String(promptsIn(request))) }
}

function promptsIn({ messages }: ModelRequest): number {
  let found = 0
  for (const { role, parts } of messages)
    for (const part of parts)
      if (role === 'user' && part.type === 'text') found += [...part.text.matchAll(SCRIPT)].length
  return found
}

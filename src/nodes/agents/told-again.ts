/** What an agent is told when a turn of its session was broken off, and it has to begin again. */
import type { PutOff } from './asking.ts'

const TASK = 'Look at the state of things first, then go on. The task was:\n\n'
const INTERRUPTED = `You were interrupted in the middle of this task, and nobody knows what of it was done. ${TASK}`
const OVERTAKEN =
  'While a person thought about what you had asked, something else happened in this session, and your turn was broken off.'

export function toldOfInterruption(prompt: string): string {
  return `${INTERRUPTED}${prompt}`
}

/** What it had asked is not there any more, but the answer is. */
export function toldOfAnswer(prompt: string, put: PutOff): string {
  return `${OVERTAKEN} ${answerTo(put)} ${TASK}${prompt}`
}

function answerTo(put: PutOff): string {
  if ('question' in put)
    return put.question.questions
      .map(({ text }, at) => `You had asked: ${text} The answer is: ${(put.answers[at] ?? []).join(', ')}`)
      .join('\n')
  const { tool, title } = put.permission
  const { decision } = put
  const wanted = `You had wanted to use ${tool} (${title}), and it was not done.`
  if (decision === undefined || 'defer' in decision) return wanted
  if (!decision.allow) return `${wanted} You may not: ${decision.reason ?? 'it was denied'}`
  const other = decision.input === undefined ? '' : `, with this input: ${JSON.stringify(decision.input)}`
  return `${wanted} You may do so now${other}.`
}

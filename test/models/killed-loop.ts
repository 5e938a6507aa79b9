/** A model that uses a tool twice, one after the other, and writes down each call: for recovery.test.ts and its worker. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Definition } from 'nerve'
import { llm, tool, type Prompt } from 'nerve/models'
import { lastUser, scriptedModel } from './scripted-model.ts'

export function killedLoop(dir: string, hangs: boolean): Definition<Prompt, string> {
  const log = (line: string): void => appendFileSync(join(dir, 'log'), `${line}\n`)
  const count = tool(
    ({ n }: { n: number }) => {
      log(`tool ${n}`)
      if (n < 2 || !hangs) return n
      console.log('in the second tool')
      return new Promise<number>(() => undefined)
    },
    {
      name: 'count',
      description: 'Counts.',
      input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    },
  )
  const model = scriptedModel((asked) => {
    const { replies } = lastUser(asked)
    log(`model ${replies}`)
    return replies < 2 ? { calls: [{ tool: 'count', input: { n: replies + 1 } }] } : '1 and 2'
  })
  return llm('killed', { model, tools: [count] })
}

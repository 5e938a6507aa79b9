/** The scripted agent passes what every agent must pass. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { scriptedAgent, type ScriptedStep } from 'nerve/agents'
import { agentConformance, COUNT, REPLIES, stepsIn } from 'nerve/testing'

const home = mkdtempSync(join(tmpdir(), 'nerve-scripted-'))

const adapter = scriptedAgent({
  folder: join(home, 'sessions'),
  script: ({ prompt, before }) => {
    const prompts = before.filter((one) => stepsIn(one) !== undefined).length + 1
    const steps = (stepsIn(prompt) ?? []).flatMap((step): ScriptedStep[] => {
      const { fail, call, say, usage = { input: 10, output: 1 } } = step
      if (typeof fail === 'object') {
        const { message = '' } = fail
        const as = message.includes('too long')
          ? 'context-full'
          : message.includes('rate limit')
            ? 'rate-limited'
            : 'error'
        return [{ fail: message, as }]
      }
      const calls = call === undefined ? [] : [call].flat()
      if (calls.length > 0)
        return calls.map((one) => {
          if ('ask' in one) return { ask: one.ask.question, options: one.ask.options }
          return 'sh' in one ? { shell: one.sh } : { fail: 'there is no such tool' }
        })
      return [
        { usage },
        {
          say: (say ?? '')
            .replaceAll(COUNT, String(prompts))
            .replaceAll(REPLIES, String(prompts - 1))
            .replaceAll('{{last}}', '{{answer}}'),
        },
      ]
    })
    return steps
  },
})

describe('the scripted agent', () => {
  afterAll(() => rmSync(home, { recursive: true, force: true }))

  for (const { name, skip, run } of agentConformance({
    adapter,
    prepare: async () => {
      const cwd = mkdtempSync(join(home, 'work-'))
      onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
      return { cwd, env: { PATH: process.env['PATH'] ?? '' } }
    },
  }))
    it(skip === undefined ? name : `${name} (skipped: ${skip})`, { skip: skip !== undefined }, () =>
      expect(run()).resolves.toBeUndefined(),
    )
})

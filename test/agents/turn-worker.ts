/** One turn with two tools of each agent named, in a process of its own, so that it can be watched as a whole. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createGateway, scripted } from 'nerve/gateway'
import { promptedScript, scriptPrompt } from 'nerve/testing'
import { agentNamed, ROOT, type AgentName } from './under-test.ts'

mkdirSync(join(ROOT, 'coverage'), { recursive: true })
const home = mkdtempSync(join(ROOT, 'coverage', 'agent-'))
const gateway = await createGateway({ backend: scripted(promptedScript) })
try {
  for (const name of process.argv.slice(2) as AgentName[]) {
    const { adapter, env, model } = agentNamed(name)
    const reach = { url: gateway.url, token: gateway.token().token }
    const session = await adapter.open({
      cwd: mkdtempSync(join(home, 'work-')),
      env: env({ home, gateway: reach }),
      gateway: reach,
      ...(model === undefined ? {} : { model }),
      permission: async () => ({ allow: true }),
      question: async () => ({ refused: 'nobody is here' }),
      started: () => undefined,
    })
    const prompt = scriptPrompt({ call: { sh: 'touch a' } }, { call: { sh: 'touch b' } }, { say: 'done' })
    for await (const part of session.prompt(prompt))
      if (part.type === 'turn-end') console.log(name, part.reason, part.error ?? '')
    await session.close()
  }
} finally {
  await gateway.close()
  rmSync(home, { recursive: true, force: true })
}
process.exit()

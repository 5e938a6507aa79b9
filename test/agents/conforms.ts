/** Runs the conformance suite on a real agent, with a scripted model on loopback. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createGateway, scripted, type Gateway } from 'nerve/gateway'
import { agentConformance, promptedScript, type AgentUnderTest } from 'nerve/testing'
import { agentNamed, missing, ROOT, type AgentName } from './under-test.ts'

export function conforms(name: AgentName): void {
  const agent = agentNamed(name)
  const lacks = missing(agent)
  if (lacks !== undefined) console.warn(`SKIPPED: the agent ${name} is ${lacks}`)
  describe(name, { timeout: 180_000, skip: lacks !== undefined }, () => {
    let gateway: Gateway
    let home = ''
    beforeAll(async () => {
      mkdirSync(join(ROOT, 'coverage'), { recursive: true })
      home = mkdtempSync(join(ROOT, 'coverage', 'agent-'))
      gateway = await createGateway({ backend: scripted(promptedScript) })
    })
    afterAll(async () => {
      await gateway.close()
      rmSync(home, { recursive: true, force: true })
    })
    const under: AgentUnderTest = {
      adapter: agent.adapter,
      ...(agent.skip === undefined ? {} : { skip: agent.skip }),
      prepare: async () => {
        const place = { home, gateway: { url: gateway.url, token: gateway.token().token } }
        return {
          cwd: mkdtempSync(join(home, 'work-')),
          env: agent.env(place),
          ...(agent.model === undefined ? {} : { model: agent.model }),
          ...(agent.ownGateway === true ? {} : { gateway: place.gateway }),
        }
      },
    }
    for (const { name: what, skip: reason, run } of agentConformance(under))
      it(reason === undefined ? what : `${what} (skipped: ${reason})`, { skip: reason !== undefined }, () =>
        expect(run()).resolves.toBeUndefined(),
      )
  })
}

/** A process that hosts a run with an agent and is killed, or goes on with it. It says what happens, a line for each thing. */
import { createHost, workflow } from 'nerve'
import { agent, scriptedAgent, type AgentAdapter } from 'nerve/agents'
import { scriptPrompt, stepsIn } from 'nerve/testing'
import { join } from 'node:path'
import { agentNamed } from './under-test.ts'
import type { Job } from './killed.ts'

const job = JSON.parse(process.argv[2] ?? '') as Job
const { name, dir, home, cwd, gateway, prompt, permission, compacts, sandboxed, mute, copies } = job

const vendor = name === 'scripted' ? undefined : agentNamed(name)
const { token } = gateway

const node = agent('coder', {
  use: mute ? dying(vendor?.adapter ?? scripted()) : (vendor?.adapter ?? scripted()),
  sandbox: sandboxed ? { level: 'bwrap' } : 'none',
  cwd,
  permission,
  patience: 'hold',
  env: vendor?.env({ home, gateway }) ?? {},
  compactAt: compacts ? 0.000_001 : false,
  ...(vendor?.model === undefined ? {} : { model: vendor.model }),
  ...(vendor === undefined || vendor.ownGateway === true
    ? {}
    : { gateway: { url: gateway.url, token: () => ({ token, revoke: () => undefined }) } }),
})

const answered = new Set<string>()
const copy = node.fork('copy')
const build = workflow('build', async (ctx) => {
  if (!copies) return ctx.run(node, prompt)
  await ctx.run(node, scriptPrompt({ say: 'known' }))
  return ctx.run(copy, prompt)
})
const host = await createHost({ dir, definitions: [build], recover: false })
host.subscribe({ live: true }, (part) => {
  if (part.type === 'context-window') say({ compacting: true })
})

if (job.again) {
  const run = await host.handle(await theRun())
  await host.recover()
  const answering = setInterval(() => void allowAll(), 100)
  const result = await run.result()
  clearInterval(answering)
  say({ result, sessions: await sessions() })
  for (const one of [node, copy]) await one.stop()
  await host.close()
} else {
  const run = await host.start(build)
  // Until it is killed. A run that fails before that would be waited for in vain.
  setInterval(() => void tell(), 100)
  run.result().catch((error: unknown) => {
    console.error(error)
    process.exit(1)
  })
}

async function theRun(): Promise<string> {
  return (await host.runs())[0]?.run ?? ''
}

async function tell(): Promise<void> {
  const asked = (await host.inbox()).length
  if (asked > 0) say({ asked, sessions: await sessions() })
  else if (node.session !== undefined) say({ session: node.session.id })
}

async function allowAll(): Promise<void> {
  for (const { id } of await host.inbox()) {
    // The round before may still be at it.
    if (answered.has(id)) continue
    answered.add(id)
    await host.answer(id, 'allow')
  }
}

/** The ids of the sessions that the journal names, in order. */
async function sessions(): Promise<readonly string[]> {
  const kept = (await host.journal(await theRun())).flatMap(({ event }) =>
    event.type === 'step-kept' ? [event.value] : [],
  )
  return [...new Set(kept.map((value) => (value as { ref: { id: string } }).ref.id))]
}

function say(what: unknown): void {
  console.log(JSON.stringify(what))
}

/** Kills this process when the agent is to be told something: all that comes before has happened. */
function dying(adapter: AgentAdapter): AgentAdapter {
  return {
    ...adapter,
    open: async (options) => {
      const session = await adapter.open(options)
      if (copies && options.forkFrom === undefined) return session
      const prompt = (): never => {
        process.kill(process.pid, 'SIGKILL')
        throw new Error('It is dead.')
      }
      return Object.assign(session, { prompt })
    },
  }
}

function scripted(): AgentAdapter {
  return scriptedAgent({
    folder: join(dir, 'sessions'),
    script: (turn) =>
      (stepsIn(turn.prompt) ?? []).map((step) =>
        step.call !== undefined && 'sh' in step.call ? { shell: step.call.sh } : { say: step.say ?? '' },
      ),
  })
}

/** A process that works in a session of an agent until it is killed. It says which one. */
import { createHost, workflow } from 'nerve'
import { agent, scriptedAgent, type SessionRef } from 'nerve/agents'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const { cwd, session } = JSON.parse(process.argv[2] ?? '') as { cwd: string; session?: SessionRef }

const use = scriptedAgent({
  folder: join(cwd, 'sessions'),
  script: () => [{ shell: 'touch began; while :; do sleep 0.1; done' }],
})
const node = agent('worker', { use, cwd, permission: 'allow', ...(session === undefined ? {} : { session }) })
const host = await createHost({ store: 'memory' })
const run = await host.start(workflow('work', (ctx) => ctx.run(node, 'work')))
run.result().catch((error: Error) => {
  console.log(JSON.stringify({ error: error.message }))
  process.exit(1)
})
while (!existsSync(join(cwd, 'began')) || node.session === undefined) await delay(20)
console.log(JSON.stringify(node.session))

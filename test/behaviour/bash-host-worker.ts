/** A host that is going to be killed while its command runs: `bash-host-worker.ts COMMAND [bwrap]`. */
import { createHost, workflow } from 'nerve'
import { bash } from 'nerve/nodes'

const host = await createHost({ store: 'memory' })
const [, , command = 'true', sandbox] = process.argv
const node = bash('doomed', { command, sandbox: sandbox === 'bwrap' ? { level: 'bwrap' } : 'none' })
await (await host.start(workflow('doomed', (ctx) => ctx.run(node)))).result()

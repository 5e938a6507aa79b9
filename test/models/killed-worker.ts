/** A process that is killed in the middle of a tool loop: see recovery.test.ts. */
import { createHost } from 'nerve'
import { killedLoop } from './killed-loop.ts'

const [, , dir = ''] = process.argv
const host = await createHost({ dir })
await host.start(killedLoop(dir, true), 'count')
setInterval(() => undefined, 1_000)

/** A process that drives the tour: `worker.ts FOLDER start|recover`. It sends what happens to whoever started it. */
import { createHost } from 'nerve'
import { join } from 'node:path'
import tour from './tour.ts'

const [dir = '.', mode] = process.argv.slice(2)
// Whoever started this is gone: nobody watches any more.
const orphaned = (): never => process.exit(1)
process.on('disconnect', orphaned)

const host = await createHost({ dir, definitions: [tour], recover: false })
host.subscribe({ live: false }, (event) => process.send?.(event))
if (mode === 'start') {
  const run = await host.start(tour, { effects: join(dir, 'effects.txt') })
  await run.result()
} else {
  const { recovered } = await host.recover()
  for (const id of recovered) await (await host.handle(id)).result()
}
await host.close()
process.off('disconnect', orphaned)
process.disconnect()

/** A process that drives the tour: `worker.ts FOLDER start|recover`. It sends what happens to whoever started it. */
import { join } from 'node:path'
import { createHost } from 'nerve'
import { tour } from './tour.ts'

const [dir = '.', mode] = process.argv.slice(2)
const { TOUR_MODEL_URL: baseURL = '', TOUR_MODEL_KEY: apiKey = '' } = process.env
// Whoever started this is gone: nobody watches any more.
const orphaned = (): never => process.exit(1)
process.on('disconnect', orphaned)

const definition = tour({ baseURL, apiKey, effects: join(dir, 'effects.txt') })
const host = await createHost({ dir, definitions: [definition], recover: false })
host.subscribe({ live: false }, (event) => process.send?.(event))
if (mode === 'start') {
  const run = await host.start(definition)
  await run.result()
} else {
  const { recovered } = await host.recover()
  for (const id of recovered) await (await host.handle(id)).result()
}
await host.close()
process.off('disconnect', orphaned)
process.disconnect()

/** Drives one shape to its end: starts it when it is not there yet, takes it up when it is. */
import { existsSync } from 'node:fs'
import { createHost, isNerveError } from 'nerve'
import { crashFolder, witnessAck } from 'nerve/testing'
import { until } from './shape.ts'
import { SHAPES } from './shapes.ts'

const name = process.argv[2] ?? ''
const shape = SHAPES[name]
if (shape === undefined) throw new Error(`there is no shape ${name}`)
const [main] = shape.definitions
if (main === undefined) throw new Error(`shape ${name} has no definition`)

console.log('ready')
// Processes that are to race start at the same time.
const go = process.env['NERVE_GO']
if (go !== undefined) await until(() => Promise.resolve(existsSync(go) ? true : undefined))
const host = await createHost({
  dir: crashFolder(),
  definitions: shape.definitions,
  ...(shape.maxResident === undefined ? {} : { maxResident: shape.maxResident }),
  onProblem: (error) => {
    console.error(error)
    process.exitCode = 1
  },
})
for (const left of host.recovered.left) throw new Error(`run ${left.run} was left: ${left.reason}`)
const known = (await host.runs({ definition: main.name })).find((row) => row.forkedFrom === undefined)
const run = known === undefined ? await host.start(main, shape.input) : await host.handle(known.run)
witnessAck({ run: run.id, type: 'run-created' })
await shape.act?.(host, run)
const result = await run.result().catch((error: unknown) => {
  if (isNerveError(error)) return error.code
  throw error
})
console.log(JSON.stringify(result))
await host.close()

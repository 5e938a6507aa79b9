/**
 * Drives one shape to its end: starts it when it is not there yet, takes it up when it is. As a survivor, without a shape, it does
 * so for each line it is given, and what it drives was left by processes that have died.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createHost, isNerveError } from 'nerve'
// Not the door: the rest of the kit takes longer to load than everything else here.
import { crashFolder, witnessAck } from '../../src/testing/crash-harness.ts'
import { countPassings } from '../../src/base/failpoint.ts'
import { PASSINGS, until, type Left } from './shape.ts'
import { SHAPES } from './shapes.ts'

async function drive(name: string): Promise<unknown> {
  const shape = SHAPES[name]
  if (shape === undefined) throw new Error(`there is no shape ${name}`)
  const [main] = shape.definitions
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
  await host.close()
  return result
}

const [shape] = process.argv.slice(2)
if (shape === undefined) {
  for await (const line of createInterface({ input: process.stdin })) {
    const left = JSON.parse(line) as Left
    Object.assign(process.env, left.env)
    console.log(JSON.stringify((await drive(left.shape)) ?? null))
  }
} else {
  const passings = countPassings()
  console.log('ready')
  // Processes that are to race start at the same time.
  const go = process.env['NERVE_GO']
  if (go !== undefined) await until(() => Promise.resolve(existsSync(go) ? true : undefined))
  console.log(JSON.stringify(await drive(shape)))
  writeFileSync(join(crashFolder(), PASSINGS), JSON.stringify(Object.fromEntries(passings)))
}

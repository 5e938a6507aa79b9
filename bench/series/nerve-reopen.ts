// A process of its own: opens a host on a store full of parked runs, tells what that added, and answers one to see it alive.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expectEqual, now, settleMemory } from '../harness/measure.ts'
import { createHost } from './nerve-entry.ts'
import { parking } from './nerve-park.ts'

const dir = process.argv[2] ?? ''
const empty = join(dir, 'empty')
mkdirSync(empty, { recursive: true })
const first = await createHost({ dir: empty, definitions: [parking] })
await (await first.start(parking, { i: 1 })).rest()
const before = await settleMemory()

const began = now()
const host = await createHost({ dir, definitions: [parking] })
const openMs = now() - began
const after = await settleMemory()

const [parked] = await host.runs({ status: ['waiting'], limit: 1 })
const question = parked?.questions[0]?.id
if (parked === undefined || question === undefined) throw new Error('there is no parked run in the store')
const handle = await host.handle<{ answer: string }>(parked.run)
await handle.answer(question, 'yes')
expectEqual((await handle.result()).answer, 'yes', 'answer')
await host.close()
await first.close()
console.log(JSON.stringify({ rssMb: after.rssMb - before.rssMb, openMs }))

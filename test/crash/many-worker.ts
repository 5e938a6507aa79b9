/** Starts what is missing of two hundred runs, and waits for all of them. */
import { setTimeout as delay } from 'node:timers/promises'
import { createHost, workflow } from 'nerve'
import { crashFolder, witnessAck, witnessEffect } from '../../src/testing/crash-harness.ts'

const COUNT = 200

const small = workflow('small', async (ctx, input: number) => {
  let sum = input
  for (let i = 1; i <= 3; i += 1) {
    sum += await ctx.step('add', async (call) => {
      witnessEffect(call)
      await delay(1 + (input % 5))
      return i
    })
  }
  await ctx.sleep(10)
  return ctx.step('double', (call) => {
    witnessEffect(call)
    return sum * 2
  })
})

console.log('ready')
const host = await createHost({ dir: crashFolder(), definitions: [small], maxResident: 50 })
const known = await host.runs()
const inputs = await Promise.all(
  known.map(async ({ run }) => {
    const first = (await host.journal(run))[0]?.event
    return { run, input: first?.type === 'run-created' ? Number(first.input) : -1 }
  }),
)
const there = new Map(inputs.map(({ run, input }) => [input, run]))
const runs = await Promise.all(
  Array.from({ length: COUNT }, async (_, input) => {
    const run = there.get(input)
    if (run !== undefined) return { input, handle: await host.handle<number>(run) }
    const handle = await host.start(small, input)
    witnessAck({ run: handle.id, type: 'run-created', input })
    return { input, handle }
  }),
)
const results = await Promise.all(runs.map(async ({ input, handle }) => (await handle.result()) === (input + 6) * 2))
console.log(JSON.stringify({ runs: (await host.runs()).length, right: results.filter(Boolean).length }))
await host.close()

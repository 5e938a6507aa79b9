/** Runs at work, clients that come and go, and a daemon that is killed again and again. */
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from 'nerve/client'
import { ensureDaemon } from '../../src/surfaces/daemon/find-daemon.ts'
import { isNerveError } from '../../src/base/nerve-error.ts'
import { COMMAND } from '../cli/nerve.ts'
import { restlessClients, type Restless } from './restless-clients.ts'
import type { Stage } from './stage.ts'

export interface ChaosOptions {
  readonly runs: number
  /** Steps of each run; every tenth is a question. */
  readonly steps: number
  /** How often the daemon is killed. */
  readonly kills: number
  readonly seed: number
}

export interface ChaosReport {
  readonly outputs: readonly unknown[]
  readonly clients: readonly Restless[]
  readonly journals: ReadonlyMap<
    string,
    readonly { readonly seq: number; readonly type: string; readonly path?: string }[]
  >
  readonly kills: number
  readonly answers: number
}

/** Adds up what its steps return: a step that is lost or counted twice shows in the sum. */
export const adding = `import { workflow } from 'nerve'
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
export default workflow('adding', async (ctx, { steps, seed }) => {
  let sum = 0
  for (let i = 0; i < steps; i += 1) {
    if (i % 10 === 9) sum += Number(await ctx.ask('How many?', { label: 'ask', choices: ['1', '2'] }))
    else sum += await ctx.step('add', async () => { await pause((seed * 7 + i * 13) % 40); return i })
  }
  return sum
})
`

export function expectedSum(steps: number): number {
  return Array.from({ length: steps }, (_, i) => (i % 10 === 9 ? 2 : i)).reduce((a, b) => a + b, 0)
}

export async function chaos(stage: Stage, { runs, steps, kills, seed }: ChaosOptions): Promise<ChaosReport> {
  const chance = random(seed)
  const [program = '', ...rest] = COMMAND
  const start = async () => {
    const { client } = await ensureDaemon(stage.dir, [
      program,
      ...rest,
      'server',
      'start',
      '--foreground',
      '--dir',
      stage.dir,
    ])
    await client.close()
  }
  await start()
  const { socket } = stage.record() ?? { socket: '' }
  const client = await connect(socket)
  const started = await Promise.all(
    Array.from({ length: runs }, async (_, at) => {
      const { run } = await client.call('runs.start', { file: `${stage.dir}/adding.ts`, input: { steps, seed: at } })
      return run
    }),
  )
  const clients = await restlessClients(socket, chance)
  const answering = answerer(socket)
  let killed = 0
  for (; killed < kills; killed += 1) {
    await delay(50 + chance() * 350)
    await stage.kill()
    await start()
  }
  const outputs = await Promise.all(started.map((run) => client.run(run).result()))
  const answers = await answering.stop()
  for (const one of clients) await one.finish()
  const journals = new Map<string, ChaosReport['journals'] extends ReadonlyMap<string, infer List> ? List : never>()
  for (const run of started) journals.set(run, await client.call('runs.journal', { run }))
  await client.close()
  return { outputs, clients, journals, kills: killed, answers }
}

/** A person who answers everything with 2, over and over, whatever happens to the daemon. */
function answerer(socket: string): { readonly stop: () => Promise<number> } {
  let over = false
  let answers = 0
  const working = (async () => {
    while (!over) {
      try {
        const client = await connect(socket)
        try {
          for (const { id } of await client.questions.list()) {
            await client.questions.answer(id, '2')
            answers += 1
          }
        } finally {
          await client.close()
        }
      } catch (error) {
        // Gone, or answered before the last one was killed: it is looked at again.
        if (!isNerveError(error)) throw error
      }
      await delay(30)
    }
    return answers
  })()
  return {
    stop: () => {
      over = true
      return working
    },
  }
}

function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** Runs at work, clients that come and go, and a daemon that is killed again and again. */
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from 'nerve/client'
import { ensureDaemon } from '../../src/surfaces/daemon/find-daemon.ts'
import { isNerveError } from '../../src/base/nerve-error.ts'
import { COMMAND } from '../cli/nerve.ts'
import { LAST_QUESTION, expectedSum } from './adding.ts'
import { restlessClients, type Journals, type Restless } from './restless-clients.ts'
import { inboxWatcher, runAttacher, runFollower } from './restless-commands.ts'
import type { Doors } from './restless-kinds.ts'
import { httpWaiter, stdioWaiter } from './restless-mcp.ts'
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
  readonly journals: Journals
  /** What was going on in the moment before each time that the daemon was killed. */
  readonly unfinished: readonly Unfinished[]
  readonly answers: number
}

interface Unfinished {
  /** Runs that had not ended. */
  readonly runs: number
  /** Those of them that did not wait for a person. */
  readonly atWork: number
}

function unfinishedOf(rows: readonly { readonly status: string; readonly ended?: number }[]): Unfinished {
  const runs = rows.filter(({ ended }) => ended === undefined)
  return { runs: runs.length, atWork: runs.filter(({ status }) => status !== 'waiting').length }
}

async function doorsOf(stage: Stage): Promise<Doors> {
  const { out } = await stage.nerve(['token', 'show', 'default'])
  // While there is none, nobody answers there.
  const url = (): string => stage.record()?.url ?? 'http://127.0.0.1:9'
  return { socket: stage.record()?.socket ?? '', url, token: out.trim() }
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
      '--http=0',
    ])
    await client.close()
  }
  await start()
  const doors = await doorsOf(stage)
  const { socket } = doors
  const client = await connect(socket)
  const started = await Promise.all(
    Array.from({ length: runs }, async (_, at) => {
      const { run } = await client.call('runs.start', { file: `${stage.dir}/adding.ts`, input: { steps, seed: at } })
      return run
    }),
  )
  const output = expectedSum(steps)
  const unfinished: Unfinished[] = []
  // On a quick machine they would all be over before the last kill.
  const mayEnd = (): boolean => unfinished.length >= kills
  const clients = [
    ...(await restlessClients(doors, chance)),
    inboxWatcher(stage, { socket, chance, mayEnd }),
    runFollower(stage, started[0] ?? '', chance),
    runAttacher(stage, { run: started[1] ?? '', output, chance }),
    stdioWaiter(stage, { run: started[2] ?? '', output, chance }),
    httpWaiter(doors, { run: started[3] ?? '', output, chance }),
  ]
  const answering = answerer(socket)
  while (unfinished.length < kills) {
    await delay(50 + chance() * 350)
    unfinished.push(unfinishedOf(await client.runs.list()))
    await stage.kill()
    await start()
  }
  const outputs = await Promise.all(started.map((run) => client.run(run).result()))
  const answers = await answering.stop()
  for (const one of clients) await one.finish()
  const journals = new Map(
    await Promise.all(started.map(async (run) => [run, await client.call('runs.journal', { run })] as const)),
  )
  await client.close()
  return { outputs, clients, journals, unfinished, answers }
}

/** A person who answers everything but the last questions with 2, over and over, whatever happens to the daemon. */
function answerer(socket: string): { readonly stop: () => Promise<number> } {
  let over = false
  let answers = 0
  const working = (async () => {
    while (!over) {
      try {
        const client = await connect(socket)
        try {
          for (const { id, prompt } of await client.questions.list()) {
            if (prompt === LAST_QUESTION) continue
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

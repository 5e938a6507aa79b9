/**
 * `npm start`: a run survives the death of its process, in the middle of what a model does with its tools.
 *
 * A worker starts the workflow of tour.ts and is killed with SIGKILL. A second worker takes the run up from its journal. The model
 * is scripted (script.ts): this process serves it on a gateway and counts the calls. Each effect leaves one line in a file, so that
 * what ran twice would show.
 *
 *     node --conditions=nerve-source examples/tour/main.ts [--json] [--keep]
 */
import { fork, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createHost, type RunEvent } from 'nerve'
import { createGateway, scripted } from 'nerve/gateway'
import { eventText, print, quiet, title, tone } from './print.ts'
import { script } from './script.ts'
import { typed } from './typed.ts'

/** The tools that the model uses after its second reply: the second look_up. */
const KILL_DURING = 'writer/tools#2/1/look_up'
const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url))
const options = new Set(process.argv.slice(2))
const asks = process.stdin.isTTY && process.stdout.isTTY && !options.has('--json')

const dir = mkdtempSync(join(tmpdir(), 'nerve-tour-'))
const gateway = await createGateway({ backend: scripted(script) })
const model = { TOUR_MODEL_URL: `${gateway.url}/v1`, TOUR_MODEL_KEY: gateway.token().token }
let worker: ChildProcess | undefined

/** Starts a worker and hands each event to `hear` until the process is gone. */
function work(mode: 'start' | 'recover', hear: (event: RunEvent, child: ChildProcess) => void): Promise<number | null> {
  const child = fork(WORKER, [dir, mode], {
    env: { ...process.env, ...model },
    execArgv: ['--conditions=nerve-source', '--disable-warning=ExperimentalWarning'],
  })
  worker = child
  child.on('message', (event) => hear(event as RunEvent, child))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code) => resolve(code))
  })
}

async function firstLife(): Promise<{ readonly run: string; readonly pid: number; readonly kept: string[] }> {
  let run = ''
  let pid = 0
  const kept: string[] = []
  await work('start', (event, child) => {
    run = event.run
    if (child.killed) return
    if (event.type === 'step-completed' && event.kind !== 'item') kept.push(event.path)
    print(eventText(event))
    if (event.type !== 'step-started' || event.path !== KILL_DURING) return
    pid = child.pid ?? 0
    child.kill('SIGKILL')
  })
  return { run, pid, kept }
}

async function secondLife(kept: readonly string[]): Promise<string[]> {
  const again: string[] = []
  const answers: Promise<void>[] = []
  const code = await work('recover', (event) => {
    if (event.type === 'step-completed' && kept.includes(event.path)) again.push(event.path)
    print(eventText(event))
    if (event.type === 'question-asked') answers.push(answer(event.id, event.choices ?? []))
  })
  await Promise.all(answers)
  if (code !== 0) throw new Error(`the second worker ended with ${code}`)
  return again
}

/** The answer goes from this process to the one that drives the run, as it would from any other terminal. */
async function answer(question: string, choices: readonly string[]): Promise<void> {
  const host = await createHost({ dir, recover: false })
  try {
    for (let open = true; open;) {
      const text = asks ? await person(choices) : (choices[0] ?? '')
      open = await host.answer(question, text, { by: asks ? 'you' : 'the tour' }).then(
        () => false,
        (error: Error) => {
          print(`    ${tone(error.message, 'red')}`)
          return asks
        },
      )
    }
  } finally {
    await host.close()
  }
}

function person(choices: readonly string[]): Promise<string> {
  for (const [index, choice] of choices.entries()) print(`    ${index + 1} ${choice}`)
  return typed('    > ')
}

async function tour(): Promise<void> {
  const began = Date.now()
  print(
    tone(
      'A run is its journal: it outlives the process that drives it. No key is needed: the model is scripted.',
      'dim',
    ),
  )
  title('1', 'A worker process starts a run')
  const { run, pid, kept } = await firstLife()
  print(`  ${tone(`✗ killed: SIGKILL to process ${pid}, in the middle of the second look_up`, 'red')}`)

  title('2', `A new process takes the run up; ${kept.length} results in the journal do not run again`)
  const again = await secondLife(kept)

  const host = await createHost({ dir, recover: false })
  const row = await host.run(run)
  const events = (await host.journal(run)).length
  const output = await (await host.handle(run)).result()
  await host.close()

  const effects = readFileSync(join(dir, 'effects.txt'), 'utf8').trim().split('\n')
  const modelCalls = gateway.log.recent.length
  const { calls = 0, tokens = 0 } = row.usage
  const repeated = effects.length - new Set(effects).size + again.length + modelCalls - calls
  const seconds = (Date.now() - began) / 1_000
  title('3', 'What happened')
  print(`  ${effects.length} effects and ${modelCalls} calls of the model 'scripted', ${repeated} repeated`)
  print(`  ${calls} of ${row.budget?.calls} calls spent, ${tokens} of ${row.budget?.tokens} tokens`)
  print(`  ${events} events in one journal, written by 2 processes`)
  print(`  ${tone(`✓ ${row.status}`, 'green')} in ${seconds.toFixed(1)}s: ${JSON.stringify(output)}`)
  if (options.has('--json'))
    console.log(
      JSON.stringify({
        status: row.status,
        run,
        output,
        killed: { pid, during: KILL_DURING },
        kept: kept.length,
        effects: effects.length,
        modelCalls,
        repeated,
        usage: row.usage,
        budget: row.budget,
        events,
        seconds,
      }),
    )
  if (repeated > 0 || row.status !== 'completed')
    throw new Error(`${row.status}, and ${repeated} effects or calls were repeated`)
}

function leave(): void {
  worker?.kill('SIGKILL')
  if (options.has('--keep'))
    print(`\n  kept in ${dir}; look with: node src/surfaces/cli/main.ts show last --dir ${dir}`)
  else if (existsSync(dir)) rmSync(dir, { recursive: true, force: true, maxRetries: 3 })
}

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    leave()
    process.exit(130)
  })

if (options.has('--json')) quiet()
try {
  await tour()
  if (!options.has('--keep'))
    print(`\n  The whole program: ${relative(process.cwd(), fileURLToPath(new URL('tour.ts', import.meta.url)))}`)
} catch (error) {
  console.error(`The tour failed: ${(error as Error).message}`)
  process.exitCode = 1
} finally {
  leave()
  await gateway.close()
}

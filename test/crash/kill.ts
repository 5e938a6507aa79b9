/** What the crash tests share: a folder of their own, somebody outside, and two processes at a time. */
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createHost, isNerveError, type Host } from 'nerve'
import { crash, crashProblems, witnessAck, type CrashReport, type Kill } from 'nerve/testing'
import { databaseFile } from '../../src/host/open-store.ts'
import { built, compileCache } from '../built.ts'
import { PASSINGS } from './shape.ts'
import type { Survivor } from './survivor.ts'
import { SHAPES } from './shapes.ts'

/** A program of this folder, built with the package: thousands of processes are started here. */
export const program = (name: string): string => built('dist', 'test', 'crash', `${name}.js`)

export function scratch(): { readonly dir: string; readonly remove: () => void } {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-crash-'))
  return { dir, remove: () => rmSync(dir, { recursive: true, force: true }) }
}

export interface Killed {
  readonly report: CrashReport
  /** Everything that is wrong afterwards. */
  readonly problems: readonly string[]
  /** How often the last process passed each failpoint. */
  readonly passings: Readonly<Record<string, number>>
}

/** Runs a shape and kills it; the last one to take it up is the survivor, or a process of its own. */
export async function killed(name: string, kills: readonly Kill[], survivor?: Survivor): Promise<Killed> {
  const shape = SHAPES[name]
  if (shape === undefined) throw new Error(`there is no shape ${name}`)
  const { dir, remove } = scratch()
  try {
    const report = await crash({
      worker: program('worker'),
      args: [name],
      dir,
      kills,
      env: compileCache(),
      ...(survivor === undefined ? {} : { survivor: (env) => survivor.takeUp({ shape: name, env }) }),
      ...(shape.outside === undefined ? {} : { beside: shape.outside === 'answers' ? answers : signals }),
    })
    const file = join(dir, PASSINGS)
    // A process that has failed has not come to its end, which is among the problems.
    const passings = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Killed['passings']) : {}
    return { report, problems: [...crashProblems(report), ...resultProblems(name, report)], passings }
  } finally {
    remove()
  }
}

export interface Running {
  readonly process: ChildProcess
  /** What it printed last, when it has ended. */
  readonly ended: Promise<{ readonly code: number | null; readonly last: string; readonly errors: string }>
}

/** Starts a worker and leaves it alone. */
export function started(
  name: string,
  dir: string,
  env: Readonly<Record<string, string>> = {},
  within: readonly string[] = [],
): Running {
  const [file, ...args] = [...within, process.execPath, program('worker'), name]
  const child = spawn(file, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...compileCache(), NERVE_CRASH_FOLDER: dir, NERVE_CRASH_PROCESS: '0', ...env },
  })
  const text = { out: '', err: '' }
  child.stdout.on('data', (data: Buffer) => (text.out += String(data)))
  child.stderr.on('data', (data: Buffer) => (text.err += String(data)))
  const ended = new Promise<Awaited<Running['ended']>>((resolve) => {
    child.on('close', (code) => resolve({ code, last: text.out.trimEnd().split('\n').at(-1) ?? '', errors: text.err }))
  })
  return { process: child, ended }
}

function resultProblems(name: string, report: CrashReport): string[] {
  const expected = JSON.stringify(SHAPES[name]?.expected)
  const allowed = [expected, ...otherResults(name, report)]
  const result = JSON.stringify(report.result)
  return allowed.includes(result) ? [] : [`the result is ${result}, not ${allowed.join(' or ')}`]
}

/** A step that must not run twice may have been skipped or failed by hand, when it was in flight. */
function otherResults(name: string, report: CrashReport): string[] {
  const last = report.journals.at(-1) ?? []
  const asked = last.flatMap(({ entries }) =>
    entries.flatMap(({ event }) => (event.type === 'question-asked' && event.kind === 'recovery' ? [event.path] : [])),
  )
  if (name === 'once-fail' && asked.length > 0) return ['"run-failed"']
  if (name !== 'once-skip') return []
  const at = (path: string, value: number): unknown =>
    asked.some((one) => one.startsWith(`${path}/`)) ? 'skipped' : value
  return [JSON.stringify([1, at('pay', 2), at('post', 3)])]
}

/** Waits until there is a database with a run, opens a host that drives nothing, and does something over and over. */
async function outside(
  dir: string,
  signal: AbortSignal,
  act: (host: Host, run: string) => Promise<boolean>,
): Promise<void> {
  let host: Host | undefined
  try {
    for (let done = false; !done && !signal.aborted; await delay(5)) {
      if (host === undefined && !existsSync(databaseFile(dir))) continue
      try {
        host ??= await createHost({ dir, recover: false })
        const run = (await host.runs()).at(-1)?.run
        if (run !== undefined) done = await act(host, run)
      } catch (error) {
        // The driver may be dead at the moment: then nobody here has the code, and the next round tries again.
        if (!isNerveError(error)) throw error
      }
    }
  } finally {
    await host?.close()
  }
}

const FIRST_CHOICE = ['one', 'three'] as const

function answers(dir: string, signal: AbortSignal): Promise<void> {
  return outside(dir, signal, async (host, run) => {
    for (const asked of (await host.inbox()).toReversed()) {
      const value = FIRST_CHOICE.find((choice) => asked.choices?.includes(choice))
      await host.answer(asked.id, value, { by: 'somebody' })
      witnessAck({ run, type: 'question-answered', id: asked.id, value, by: 'somebody' }, dir)
    }
    return (await host.run(run)).ended !== undefined
  })
}

/** Sends each signal once: a second time only when the first was refused. */
function signals(dir: string, signal: AbortSignal): Promise<void> {
  const left = [
    { name: 'message', value: 'hello' },
    { name: 'go', value: 1 },
    { name: 'go', value: 2 },
  ]
  return outside(dir, signal, async (host, run) => {
    const next = left[0]
    if (next === undefined) return true
    await (await host.handle(run)).signal(next.name, next.value)
    witnessAck({ run, type: 'signal-received', ...next }, dir)
    left.shift()
    return false
  })
}

/** Runs jobs two at a time, in order; each is told in which of two lanes it is. */
export async function pairwise<Item, Output>(
  items: readonly Item[],
  run: (item: Item, lane: 0 | 1) => Promise<Output>,
): Promise<Output[]> {
  const results: Output[] = []
  let next = 0
  const drive = async (lane: 0 | 1): Promise<void> => {
    while (next < items.length) {
      const index = next
      next += 1
      results[index] = await run(items[index] as Item, lane)
    }
  }
  await Promise.all([drive(0), drive(1)])
  return results
}

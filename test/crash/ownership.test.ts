/** Two processes and one run: one of them drives it, and the other one cannot. */
import { spawnSync, type ChildProcess } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { crash, crashProblems, readJournals, type SeenEffect } from 'nerve/testing'
import { databaseFile } from '../../src/host/open-store.ts'
import { compileCache } from '../built.ts'
import { killed, pairwise, program, scratch, started, type Running } from './kill.ts'
import { until } from './shape.ts'
import { SHAPES } from './shapes.ts'

const ROUNDS = process.env['NERVE_LONG'] === '1' ? 60 : 6

let dir: string
let clean: (() => void | Promise<void>)[]

beforeEach(() => {
  const made = scratch()
  dir = made.dir
  clean = [made.remove]
})

afterEach(async () => {
  for (const undo of clean.toReversed()) await undo()
})

function start(
  shape: string,
  folder: string,
  env: Readonly<Record<string, string>> = {},
  within: readonly string[] = [],
): Running {
  const running = started(shape, folder, env, within)
  clean.push(async () => {
    running.process.kill('SIGKILL')
    await running.ended
  })
  return running
}

function effectsIn(folder: string): SeenEffect[] {
  const text = readFileSync(join(folder, 'effects.jsonl'), 'utf8').trim()
  return text.split('\n').map((line) => JSON.parse(line) as SeenEffect)
}

describe('two processes that recover one crashed run at the same time', () => {
  test('one of them drives it: each effect once, both see the result', async () => {
    const shapes = ['loop', 'nested', 'map', 'child'].flatMap((shape) =>
      Array.from({ length: ROUNDS / 2 }, () => shape),
    )
    const wrong = await pairwise(shapes, async (shape) => {
      const own = scratch()
      clean.push(own.remove)
      await start(shape, own.dir, { NERVE_FAILPOINT: 'commit-after:5' }).ended
      const before = new Set(effectsIn(own.dir).map(({ run, path }) => `${run}/${path}`))
      const [crashed] = await readJournals(own.dir)
      const go = join(own.dir, 'go')
      const racers = [1, 2].map((by) => start(shape, own.dir, { NERVE_GO: go, NERVE_CRASH_PROCESS: String(by) }))
      writeFileSync(go, '')
      const ends = await Promise.all(racers.map((racer) => racer.ended))
      const results = new Set(ends.map((end) => `${end.code} ${end.last} ${end.errors}`))
      const after = effectsIn(own.dir).filter(({ by }) => by > 0)
      const twice = after.filter((one, at) => after.findIndex((two) => key(two) === key(one)) !== at)
      const again = after.filter((one) => before.has(key(one)) && isCompleted(crashed, one))
      const runs = await readJournals(own.dir)
      return [
        ...[...results].filter((end) => end !== `0 ${JSON.stringify(SHAPES[shape]?.expected)} `),
        ...twice.map((one) => `${shape}: ${key(one)} was executed twice, by nobody's death`),
        ...again.map((one) => `${shape}: ${key(one)} had completed`),
        ...runs.flatMap(({ entries }) =>
          entries.flatMap((entry, at) => (entry.seq === at + 1 ? [] : [`gap at ${at}`])),
        ),
      ]
    })
    expect(wrong.flat()).toEqual([])
  }, 60_000)
})

function key({ run, path }: SeenEffect): string {
  return `${run}/${path}`
}

function isCompleted(crashed: Awaited<ReturnType<typeof readJournals>>[number] | undefined, one: SeenEffect): boolean {
  return crashed?.entries.some(({ event }) => event.type === 'step-completed' && event.path === one.path) ?? false
}

/** Starts a program as a container does: with a numbering of processes of its own. */
const UNSHARED = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--mount-proc', '--kill-child']
const UNSHARES = spawnSync(UNSHARED[0] ?? '', [...UNSHARED.slice(1), 'true']).status === 0

describe('an owner in a container', () => {
  test.skipIf(!UNSHARES)(
    'is not dead because its process is not here (skipped where containers cannot be made)',
    async () => {
      const owner = start('slow', dir, {}, UNSHARED)
      await until(async () => ((await stepsDone(dir)) >= 2 ? true : undefined))
      const other = start('slow', dir, { NERVE_CRASH_PROCESS: '1' })
      expect(await owner.ended).toEqual({ code: 0, last: '78', errors: '' })
      expect(await other.ended).toEqual({ code: 0, last: '78', errors: '' })
      expect(new Set(effectsIn(dir).map(({ by }) => by))).toEqual(new Set([0]))
    },
  )
})

describe('an owner that was stopped', () => {
  test('and whose run was taken meanwhile has its next append refused, and stops driving', async () => {
    const owner = start('slow', dir)
    await until(async () => ((await stepsDone(dir)) >= 3 ? true : undefined))
    await until(async () => stopBetweenCommits(owner.process, dir))
    const db = new DatabaseSync(databaseFile(dir))
    db.exec('UPDATE hosts SET beat = 0')
    db.close()
    const thief = start('slow', dir, { NERVE_CRASH_PROCESS: '1' })
    await until(async () => ((await stepsDone(dir)) >= 6 ? true : undefined)).finally(() =>
      owner.process.kill('SIGCONT'),
    )
    expect(await owner.ended).toEqual({ code: 0, last: '"ownership-lost"', errors: '' })
    expect(await thief.ended).toEqual({ code: 0, last: '78', errors: '' })
    const [run] = await readJournals(dir)
    const paths = run?.entries.flatMap(({ event }) => (event.type === 'step-completed' ? [event.path] : [])) ?? []
    expect(new Set(paths).size).toBe(paths.length)
    expect(paths).toHaveLength(12)
    // What it had in flight when it was stopped may have been done twice; nothing after that.
    const counts = new Map<string, number>()
    for (const one of effectsIn(dir)) counts.set(one.path, (counts.get(one.path) ?? 0) + 1)
    expect([...counts.values()].filter((count) => count > 1).length).toBeLessThanOrEqual(1)
  })
})

/** Stops a process; one that was stopped in the middle of a commit would lock everybody out, so that one goes on. */
function stopBetweenCommits(owner: ChildProcess, folder: string): true | undefined {
  owner.kill('SIGSTOP')
  const db = new DatabaseSync(databaseFile(folder))
  try {
    db.exec('PRAGMA busy_timeout = 0')
    db.exec('BEGIN IMMEDIATE')
    db.exec('ROLLBACK')
    return true
  } catch {
    owner.kill('SIGCONT')
    return undefined
  } finally {
    db.close()
  }
}

async function stepsDone(folder: string): Promise<number> {
  const [run] = await readJournals(folder)
  return run?.entries.filter(({ event }) => event.type === 'step-completed').length ?? 0
}

describe('processes that come at the same time', () => {
  test('to a folder without a database make one, and all of them can use it', async () => {
    const go = join(dir, 'go')
    const comers = [1, 2, 3, 4].map((by) => start('loop', dir, { NERVE_GO: go, NERVE_CRASH_PROCESS: String(by) }))
    writeFileSync(go, '')
    const ends = await Promise.all(comers.map((comer) => comer.ended))
    expect(ends.map(({ code, last, errors }) => ({ code, last, errors }))).toEqual(
      ends.map(() => ({ code: 0, last: '21', errors: '' })),
    )
  })
})

describe('a paused run with work left and an open question', () => {
  test('goes on when the process that resumed it died before it took it up', async () => {
    // The first one kills itself, when it has paused the run: nothing is forked.
    const { report, problems } = await killed('held', [{ at: 'fork-before' }, { at: 'release-after' }])
    expect(problems).toEqual([])
    expect(report.processes.map((one) => one.killed)).toEqual([true, true, false])
  })
})

describe('two hundred runs in one process', () => {
  test('survive its death at a random time', async () => {
    const seed = Number(process.env['NERVE_SEED'] ?? Date.now() % 1_000_000)
    console.log(`two hundred runs: NERVE_SEED=${seed}`)
    const report = await crash({
      worker: program('many-worker'),
      dir,
      kills: [{ after: 20 + (seed % 180) }, { after: 10 + ((seed * 7) % 150) }],
      env: compileCache(),
    })
    expect(crashProblems(report), `NERVE_SEED=${seed}`).toEqual([])
    expect(report.result).toEqual({ runs: 200, right: 200 })
  }, 60_000)
})

/**
 * Commands that people leave open, killed and called again and again: who watches the inbox, and who follows one run. What they
 * print is all that is known of them.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { connect } from 'nerve/client'
import { isNerveError } from '../../src/base/nerve-error.ts'
import { jsonLines, type Running } from '../cli/nerve.ts'
import { LAST_QUESTION } from './adding.ts'
import type { Restless } from './restless-clients.ts'
import type { Stage } from './stage.ts'

/** One call of a command: what it printed, as far as the lines were whole. */
interface Visit {
  // oxlint-disable-next-line no-explicit-any -- whatever a command printed
  readonly lines: readonly any[]
  /** Why it was over before it was killed; undefined when it was not. */
  readonly ended: string | undefined
}

/**
 * Calls a command, and kills it after a while. A while in which it showed nothing is longer the next time: on a machine that has
 * much to do, it may not have come to it.
 */
class Visits {
  readonly all: Visit[] = []
  readonly #stage: Stage
  readonly #chance: () => number
  #patience = 500

  constructor(stage: Stage, chance: () => number) {
    this.#stage = stage
    this.#chance = chance
  }

  async next(args: readonly string[], hear: (running: Running) => () => void = () => () => undefined): Promise<Visit> {
    const running = this.#stage.start(args)
    const stopHearing = hear(running)
    const ended = running.ended.then(() => 'ended')
    const over = await Promise.race([ended, delay(this.#patience + this.#chance() * 1_000)])
    running.child.kill('SIGKILL')
    const { code, out, err } = await running.ended
    stopHearing()
    // A line that was cut short is no line.
    const lines = jsonLines(out.slice(0, out.lastIndexOf('\n') + 1))
    const visit = { lines, ended: over === 'ended' && code !== null ? `${code}: ${err}` : undefined }
    this.#patience = lines.length > 0 ? 500 : this.#patience * 2
    this.all.push(visit)
    return visit
  }
}

/**
 * `nerve inbox --watch --json`, and a person beside it who gives the last answer of each run, when it is shown and not before: a
 * question that is not shown keeps its run from ending.
 */
export function inboxWatcher(
  stage: Stage,
  { socket, chance, mayEnd }: { socket: string; chance: () => number; mayEnd: () => boolean },
): Restless {
  const visits = new Visits(stage, chance)
  const answered = new Set<string>()
  let over = false
  const answerShown = (running: Running): (() => void) => {
    const left = new AbortController()
    void answerFrom(running, { socket, answered, mayEnd, signal: left.signal })
    return () => left.abort()
  }
  const coming = (async () => {
    while (!over) await visits.next(['inbox', '--watch', '--json'], answerShown)
  })()
  return {
    name: 'nerve inbox --watch',
    visits: () => visits.all.length,
    finish: async () => {
      over = true
      await coming
    },
    expectRight: (journals) => {
      const asked = new Map<string, string>()
      for (const entries of journals.values())
        for (const { type, id = '', prompt = '' } of entries) if (type === 'question-asked') asked.set(id, prompt)
      for (const { lines, ended } of visits.all) {
        expect(ended).toBeUndefined()
        expect(lines.filter(({ type }) => type !== 'asked' && type !== 'closed')).toEqual([])
        const shown: string[] = lines.filter(({ type }) => type === 'asked').map(({ id }) => id)
        expect(shown).toEqual([...new Set(shown)])
        for (const { type, id, prompt } of lines) if (type === 'asked') expect(prompt).toBe(asked.get(id))
        for (const { type, id } of lines) if (type === 'closed') expect(shown).toContain(id)
      }
      expect(answered).toEqual(new Set([...asked].filter(([, prompt]) => prompt === LAST_QUESTION).map(([id]) => id)))
    },
  }
}

interface Answering {
  readonly socket: string
  readonly answered: Set<string>
  /** Whether runs may get their last answers by now. */
  readonly mayEnd: () => boolean
  readonly signal: AbortSignal
}

async function answerFrom(running: Running, { socket, answered, mayEnd, signal }: Answering): Promise<void> {
  let printed = ''
  running.child.stdout?.on('data', (text: string) => (printed += text))
  while (!signal.aborted) {
    const lines = jsonLines(printed.slice(0, printed.lastIndexOf('\n') + 1))
    for (const { type, id, prompt } of lines)
      if (type === 'asked' && prompt === LAST_QUESTION && mayEnd() && !answered.has(id) && (await answer(socket, id)))
        answered.add(id)
    // A person takes a moment: the question is looked at more than once meanwhile.
    await delay(400)
  }
}

/** True when it is answered. The daemon may be gone: then it is tried again. */
async function answer(socket: string, question: string): Promise<boolean> {
  try {
    const client = await connect(socket)
    try {
      await client.questions.answer(question, '2')
    } finally {
      await client.close()
    }
    return true
  } catch (error) {
    if (!isNerveError(error)) throw error
    return error.code === 'already-answered' || error.code === 'run-ended'
  }
}

/** `nerve events RUN --follow --json`, which goes on after the last event that it printed. */
export function runFollower(stage: Stage, run: string, chance: () => number): Restless {
  const visits = new Visits(stage, chance)
  const seen: number[] = []
  const follow = async (...more: readonly string[]): Promise<Visit> => {
    const visit = await visits.next(['events', run, '--json', '--after', String(seen.at(-1) ?? 0), ...more])
    seen.push(...visit.lines.map(({ seq }: { seq: number }) => seq))
    return visit
  }
  const coming = (async () => {
    while ((await follow('--follow')).lines.at(-1)?.type !== 'run-completed') await delay(20)
  })()
  return {
    name: 'nerve events --follow',
    visits: () => visits.all.length,
    finish: () => coming,
    expectRight: (journals) => {
      expect({ run, seen }).toEqual({ run, seen: journals.get(run)?.map(({ seq }) => seq) })
      // It ends by itself when the run does, and not before.
      const ends = visits.all.map(({ ended }) => ended).filter((ended) => ended !== undefined)
      expect(['', '0: ']).toContain(ends.join())
    },
  }
}

/** `nerve attach RUN --json`, which shows the run from its beginning each time, and ends when it does. */
export function runAttacher(
  stage: Stage,
  { run, output, chance }: { readonly run: string; readonly output: unknown; readonly chance: () => number },
): Restless {
  const visits = new Visits(stage, chance)
  const attach = (): Promise<Visit> => visits.next(['attach', run, '--json'])
  const coming = (async () => {
    while ((await attach()).lines.at(-1)?.type !== 'result') await delay(20)
  })()
  return {
    name: 'nerve attach',
    visits: () => visits.all.length,
    finish: () => coming,
    expectRight: (journals) => {
      const there = journals.get(run)?.map(({ seq }) => seq) ?? []
      for (const { lines } of visits.all) {
        const seen = lines.flatMap(({ seq }: { seq?: number }) => seq ?? [])
        expect({ run, seen }).toEqual({ run, seen: there.slice(0, seen.length) })
      }
      const last = visits.all.at(-1)
      expect(last?.lines.filter(({ seq }) => seq !== undefined)).toHaveLength(there.length)
      expect(last?.lines.at(-1)).toMatchObject({ type: 'result', run, status: 'completed', output })
      // It ends by itself when the run does, and not before.
      const ends = visits.all.map(({ ended }) => ended).filter((ended) => ended !== undefined)
      expect(['', '0: ']).toContain(ends.join())
    },
  }
}

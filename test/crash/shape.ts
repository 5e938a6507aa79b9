/** What shapes are made of: steps that say what they do, and somebody who looks and answers. */
import { setTimeout as delay } from 'node:timers/promises'
import { isNerveError, type Context, type Handle, type Host, type StepOptions } from 'nerve'
import type { AnyDefinition, AnyNode } from '../../src/engine/definition.ts'
import { witnessAck, witnessEffect } from '../../src/testing/crash-harness.ts'

/** Where a process that has come to its end says how often it passed each failpoint. */
export const PASSINGS = 'passings.json'

/** What a survivor is given as a line: a shape that was left by a process that died, and the variables for it. */
export interface Left {
  readonly shape: string
  readonly env: Readonly<Record<string, string>>
}

export interface Shape {
  readonly definitions: readonly [AnyDefinition, ...(AnyDefinition | AnyNode)[]]
  /** The result, or the code that the run must end with. */
  readonly expected: unknown
  readonly input?: unknown
  /** What the driving process itself does to the run. */
  readonly act?: (host: Host, run: Handle) => Promise<void>
  /** What another process does to it. */
  readonly outside?: 'answers' | 'signals'
  readonly maxResident?: number
}

/** A step that says what it does: an effect, a moment, a result; and an ack once it has returned. */
export async function work<Value>(
  ctx: Context,
  label: string,
  value: Value,
  options: StepOptions<Value> & { ms?: number; fails?: number } = {},
): Promise<Value> {
  const { ms = 1, fails = 0, ...rest } = options
  let path: string | undefined
  let done = false
  const output = await ctx.step<Value>(
    label,
    async (call) => {
      path = call.path
      witnessEffect(call)
      await delay(ms, undefined, { signal: call.signal })
      if (call.attempt <= fails) throw new Error(`attempt ${call.attempt} of ${label} fails`)
      done = true
      return value
    },
    rest,
  )
  if (path !== undefined && done) witnessAck({ run: ctx.runId, type: 'step-completed', path })
  return output
}

export async function chain(ctx: Context, label: string, count: number): Promise<number> {
  let sum = 0
  for (let i = 1; i <= count; i += 1) sum += await work(ctx, label, i)
  return sum
}

/** Looks until it is so. Synchronises on the run, not on time. */
export async function until<Value>(look: () => Promise<Value | undefined>, ms = 15_000): Promise<Value> {
  const end = Date.now() + ms
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (Date.now() > end) throw new Error('it did not happen in time')
    await delay(2)
  }
}

export const ENDED = ['completed', 'completed-with-failures', 'failed', 'cancelled']

export async function isOver(host: Host, run: string): Promise<boolean> {
  return ENDED.includes((await host.run(run)).status)
}

/** Answers what the run asks, from the process that drives it; it must be seen to rest first. */
export function answering(answers: Readonly<Record<string, unknown>>, rests = false): NonNullable<Shape['act']> {
  return async (host, run) => {
    await until(async () => {
      const asked = (await host.inbox()).find((one) => one.run === run.id && answers[one.kind] !== undefined)
      if (asked !== undefined && asked.prompt !== 'Never answered?') {
        if (rests) await mustRest(host, run)
        await answerOnce(run, asked.id, answers[asked.kind])
      }
      return (await isOver(host, run.id)) ? true : undefined
    }).catch(async (error: unknown) => {
      throw new Error(await situation(host, run), { cause: error })
    })
  }
}

/**
 * What lists show of a killed process's run may be one commit behind: then the question has its answer already, or was one
 * of a step that asks again.
 */
async function answerOnce(run: Handle, question: string, value: unknown): Promise<void> {
  try {
    await run.answer(question, value)
    witnessAck({ run: run.id, type: 'question-answered', id: question })
  } catch (error) {
    if (!isNerveError(error, 'already-answered') && !isNerveError(error, 'run-ended')) throw error
  }
}

async function situation(host: Host, run: Handle): Promise<string> {
  const rows = (await host.runs({ children: true })).map((row) => `${row.run} ${row.definition} ${row.status}`)
  const journal = (await host.journal(run.id)).slice(-25).map(({ event }) => JSON.stringify(event))
  return [...rows, ...journal].join('\n')
}

/** A run that only waits must come to rest, and be shown as waiting. */
async function mustRest(host: Host, run: Handle): Promise<void> {
  const status = await run.rest()
  if (status === 'waiting' || ENDED.includes(status)) return
  throw new Error(`a run that only waits is shown as ${status}:\n${await situation(host, run)}`)
}

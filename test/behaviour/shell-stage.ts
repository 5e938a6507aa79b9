/** What the tests of shells share: a call without an engine, and processes that can be told from all others. */
import { readFileSync, readdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import type { StepCall } from 'nerve'

export interface FakeCall extends StepCall {
  readonly parts: (readonly [string, unknown])[]
}

export function fakeCall(signal: AbortSignal = new AbortController().signal): FakeCall {
  const parts: (readonly [string, unknown])[] = []
  const nothing = (): void => undefined
  return {
    key: 'run/step',
    attempt: 1,
    resumed: false,
    signal,
    path: 'step',
    usage: nothing,
    reserve: nothing,
    emit: (type, data) => void parts.push([type, data]),
    keep: () => Promise.resolve(),
    kept: undefined,
    answer: undefined,
    park: (prompt) => {
      throw new Error(prompt)
    },
    ask: () => Promise.reject(new Error('Nobody is here.')),
    parts,
  }
}

/** The text that was sent live under a name. */
export function said({ parts }: FakeCall, stream: string): string {
  return parts.flatMap(([type, data]) => (type === stream ? [String(data)] : [])).join('')
}

/** A number of seconds that nobody else sleeps for. What still sleeps when the test ends is killed. */
export function sleepTag(): string {
  const tag = `86400.${process.pid}${Math.random().toString().slice(2, 10)}`
  onTestFinished(() => {
    for (const pid of sleepers(tag)) process.kill(pid, 'SIGKILL')
  })
  return tag
}

/** The processes that sleep for this long. */
export function sleepers(tag: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => commandLine(name).startsWith(`sleep\0${tag}`))
    .map(Number)
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

/** Polls, because other processes send no event, until it holds. */
export async function eventually(condition: () => boolean, what: string, ms = 15_000): Promise<void> {
  const deadline = performance.now() + ms
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`${what}: not within ${ms} ms`)
    await delay(20)
  }
}

/** Every way to get away from a command that is known here. */
export function forest(tag: string): { readonly command: string; readonly size: number } {
  const command = `
    sleep ${tag} &
    setsid sleep ${tag} &
    (setsid sleep ${tag} >/dev/null 2>&1 </dev/null &)
    (trap '' TERM HUP; exec sleep ${tag}) &
    env -i setsid sleep ${tag} &
    nohup sleep ${tag} >/dev/null 2>&1 &
    bash -c 'set -m; sleep ${tag} & wait' &
    echo ready
    wait`
  return { command, size: 7 }
}

import { once } from 'node:events'
import { setImmediate as settled } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { NerveError } from '../../base/nerve-error.ts'
import { defineNode, type NodeOptions } from '../../define/node.ts'
import type { StepCall } from '../../engine/definition.ts'
import { SimulatedClock } from '../../testing/simulated-clock.ts'
import type { HistoryLine } from '../history/history.ts'
import { ManagedNode, type ManageOptions } from './managed-node.ts'

const call: StepCall = {
  key: 'run/say',
  path: 'say',
  attempt: 1,
  resumed: false,
  signal: new AbortController().signal,
  usage: () => undefined,
  reserve: () => undefined,
  emit: () => undefined,
  keep: () => Promise.resolve(),
  kept: undefined,
  answer: undefined,
  park: (prompt) => {
    throw new Error(prompt)
  },
  ask: () => Promise.reject(new Error('Nobody is here.')),
}

type Execute = (input: string, call: StepCall) => Promise<string> | string

function manage(execute: Execute, options: NodeOptions<string, string> = {}, more: ManageOptions = {}) {
  const states: string[] = []
  const lines: HistoryLine[] = []
  const node = new ManagedNode(defineNode('say', execute, { persistent: true, ...options }), {
    history: { record: (line) => lines.push(line) },
    onState: ({ from, to }) => states.push(`${from} -> ${to}`),
    ...more,
  })
  return { node, states, lines }
}

describe('a managed node', () => {
  it('goes through its states, and tells of each', async () => {
    const { node, states } = manage((text) => `${text}!`)
    expect(node.state).toBe('created')
    await node.start()
    expect(await node.execute('hi', call)).toBe('hi!')
    await node.stop()
    expect(states).toEqual([
      'created -> starting',
      'starting -> ready',
      'ready -> busy',
      'busy -> ready',
      'ready -> stopping',
      'stopping -> stopped',
    ])
  })

  it('starts and stops once, however often it is told to', async () => {
    const calls: string[] = []
    const { node } = manage(() => '', { start: () => void calls.push('start'), stop: () => void calls.push('stop') })
    await Promise.all([node.start(), node.start()])
    await node.start()
    await Promise.all([node.stop(), node.stop()])
    await node.stop()
    expect(calls).toEqual(['start', 'stop'])
    await node.start()
    expect(calls).toEqual(['start', 'stop', 'start'])
    expect(node.state).toBe('ready')
  })

  it('is stopped without being started: then its stop is not called', async () => {
    const { node, states } = manage(() => '', { stop: () => expect.unreachable() })
    await node.stop()
    expect(states).toEqual(['created -> stopped'])
  })

  it('is started by being executed, but not again once it was stopped', async () => {
    const { node } = manage((text) => text)
    expect(await node.execute('a', call)).toBe('a')
    await node.stop()
    await expect(node.execute('b', call)).rejects.toMatchObject({ code: 'not-ready', data: { state: 'stopped' } })
  })

  it.each(['stop', 'detach'] as const)('executes nothing once its %s has begun', async (end) => {
    for (const stop of [() => settled(), undefined]) {
      const log: string[] = []
      const execute: Execute = async (_, { signal }) => {
        log.push('begun')
        await once(signal, 'abort').finally(() => log.push('ended'))
        throw signal.reason
      }
      const { node } = manage(execute, { start: () => settled(), ...(stop === undefined ? {} : { stop }) })
      // All of them wait for the same start, and it is the end that hears of it first.
      const ended = Promise.all([node.start(), node[end]()])
      const executed = rejection(node.execute('a', call))
      await ended
      expect(await executed).toMatchObject({ code: 'not-ready' })
      expect([node.state, log]).toEqual(['stopped', []])
    }
  })

  it.each(['stop', 'detach', 'reset'] as const)('has what it executes interrupted by a %s that waited', async (end) => {
    const execute: Execute = async (_, { signal }) => {
      if (!signal.aborted) await once(signal, 'abort')
      throw signal.reason
    }
    const reset = end === 'reset' ? { reset: () => undefined } : {}
    const { node } = manage(execute, { start: () => settled(), ...reset })
    const executed = rejection(node.execute('a', call))
    await node[end]()
    expect(await executed).toMatchObject({ code: expect.stringMatching(/^(?:interrupted|not-ready)$/u) })
  })

  it('is ready again when what it executed failed', async () => {
    const { node, lines } = manage(() => {
      throw new Error('no')
    })
    await expect(node.execute('a', call)).rejects.toThrow('no')
    expect(node.state).toBe('ready')
    expect(lines).toMatchObject([
      { operation: 'send', input: 'a' },
      { operation: 'send', of: 1, error: { message: 'no' } },
    ])
  })

  it('is in the state error when it does not start, says why, and can start again', async () => {
    let broken = true
    const { node } = manage((text) => text, {
      start: () => {
        if (broken) throw new Error('no display')
      },
    })
    await expect(node.start()).rejects.toThrow('no display')
    expect(node.info()).toMatchObject({ state: 'error', error: { message: 'no display' } })
    await expect(node.execute('a', call)).rejects.toMatchObject({ code: 'not-ready', cause: { message: 'no display' } })
    broken = false
    await node.start()
    expect(await node.execute('a', call)).toBe('a')
  })

  it('has its time to start and to stop', async () => {
    const clock = new SimulatedClock(0)
    const never = (): Promise<void> => new Promise(() => undefined)
    const slow = manage(() => '', { start: never }, { clock, startTimeout: '3s' }).node
    const starting = rejection(slow.start())
    await settled()
    clock.advance(3_000)
    expect(await starting).toMatchObject({ code: 'timeout', message: "Node 'say' did not start within 3.0s." })
    const stuck = manage(() => '', { stop: never }, { clock }).node
    await stuck.start()
    const stopping = rejection(stuck.stop())
    await settled()
    clock.advance(5_000)
    expect(await stopping).toMatchObject({ code: 'timeout', message: "Node 'say' did not stop within 5.0s." })
    expect([slow.state, stuck.state]).toEqual(['error', 'error'])
  })

  it('is interrupted by its own interrupt, or else through the signal, and stays ready', async () => {
    const { node, lines } = manage(async (_, { signal }) => {
      await once(signal, 'abort')
      throw signal.reason
    })
    const running = rejection(node.execute('a', call))
    await busy(node)
    await node.interrupt()
    expect(await running).toMatchObject({ code: 'interrupted' })
    expect(node.state).toBe('ready')
    expect(lines.map(({ operation }) => operation)).toEqual(['send', 'interrupt', 'interrupt', 'send'])
    let own = 0
    const other = manage(() => '', { interrupt: () => void (own += 1) }).node
    await other.interrupt()
    expect(own).toBe(1)
  })

  it('resets by its own reset, or else by stopping and starting', async () => {
    const calls: string[] = []
    const told = (what: string) => () => void calls.push(what)
    const { node } = manage(() => '', { start: told('start'), stop: told('stop') })
    await node.start()
    await node.reset()
    expect(calls).toEqual(['start', 'stop', 'start'])
    const other = manage(() => '', { start: told('start 2'), reset: told('reset') }).node
    await other.start()
    await other.reset()
    expect(calls.slice(3)).toEqual(['start 2', 'reset'])
    expect([node.state, other.state]).toEqual(['ready', 'ready'])
  })

  it('offers what else the node can do, and records it', async () => {
    const typed: string[] = []
    const raw = Object.assign(
      defineNode('shell', () => ''),
      {
        write: (text: string) => void typed.push(text),
        read: () => typed.join(''),
      },
    )
    const lines: HistoryLine[] = []
    const node = new ManagedNode(raw, { history: { record: (line) => lines.push(line) } })
    await node.use('write', 'ls\r')
    expect(await node.use('read')).toBe('ls\r')
    await expect(node.use('run', 'ls')).rejects.toThrow("Node 'shell' (function) has no run().")
    expect(lines).toMatchObject([
      { operation: 'write', input: 'ls\r' },
      { operation: 'write', of: 1 },
      { operation: 'read' },
      { operation: 'read', of: 3, output: 'ls\r' },
    ])
  })

  it('is not hurt by a listener that throws', async () => {
    const problems: unknown[] = []
    const { node } = manage((text) => text, {}, { onProblem: (error) => problems.push(error) })
    const stop = node.onState(() => {
      throw new NerveError('bad-value', 'a listener')
    })
    await node.start()
    expect(node.state).toBe('ready')
    expect(problems).toHaveLength(2)
    stop()
    await node.stop()
    expect(problems).toHaveLength(2)
  })
})

function busy(node: ManagedNode): Promise<void> {
  return new Promise((resolve) => {
    node.onState(({ to }) => to === 'busy' && resolve())
  })
}

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('it did not reject')
}

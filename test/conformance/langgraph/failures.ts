/** Failures: attempts, timeouts, handlers, stopping. */
import { expect } from 'vitest'
import { NerveError } from 'nerve'
import { START, channel, goto, stateGraph } from 'nerve/state'
import { gate, quiet, rejection, timePasses, until } from '../../behaviour/stage.ts'
import { forkBeforeFailure, type Case } from './case.ts'

const log = { log: channel.concat<string>() }
const says = (line: string) => () => ({ log: [line] })
const fails = (message: string) => (): undefined => {
  throw new Error(message)
}

export const failures: readonly Case[] = [
  {
    theirs: 'tests/pregel.test.ts: StateGraph: should use a retry policy',
    idea: 'a node is tried again by its policy, and not when trying again cannot help',
    verdict: 'same',
    async run({ host, clock }) {
      let tries = 0
      let hopeless = 0
      const app = stateGraph('retries', log)
        .node(
          'flaky',
          () => {
            tries += 1
            if (tries < 3) throw new Error('I will be retried')
            return { log: [`after ${tries}`] }
          },
          { policy: { attempts: 3 } },
        )
        .node(
          'hopeless',
          () => {
            hopeless += 1
            throw new NerveError('bad-input', 'Total is too large', { retry: 'never' })
          },
          { policy: { attempts: 3 } },
        )
        .edge(START, 'flaky')
        .edge('flaky', 'hopeless')
        .compile()
      const run = await host.start(app, {})
      expect((await rejection(timePasses(clock, run.result()))).message).toMatch(/Total is too large/u)
      expect([tries, hopeless]).toEqual([3, 1])
      expect((await app.getState(host, run.id)).state).toEqual({ log: ['after 3'] })
    },
  },
  {
    theirs: 'tests/pregel/retry.test.ts: _runWithRetry: uses backoff: initial * backoff^(attempts - 1)',
    idea: 'waits between attempts grow',
    verdict: 'same',
    async run({ host, clock }) {
      const at: number[] = []
      const app = stateGraph('backs-off', log)
        .node(
          'flaky',
          () => {
            at.push(clock.now())
            if (at.length < 4) throw new Error('not yet')
            return {}
          },
          { policy: { attempts: 4, backoff: { initial: '1s', factor: 3, jitter: 0 } } },
        )
        .edge(START, 'flaky')
        .compile()
      const run = await host.start(app, {})
      await timePasses(clock, run.result())
      expect(at.slice(1).map((time, index) => time - (at[index] ?? 0))).toEqual([1_000, 3_000, 9_000])
    },
  },
  {
    theirs:
      'tests/timeout.test.ts: addNode timeout (end-to-end): raises NodeTimeoutError when a node exceeds its run timeout',
    idea: 'a node that takes too long fails, and is told to stop',
    verdict: 'same',
    async run({ host, clock }) {
      let stopped = false
      const app = stateGraph('too-slow', log)
        .node(
          'slow',
          (_state, { signal }) => {
            signal.addEventListener('abort', () => (stopped = true))
            return gate<undefined>().promise
          },
          { policy: { timeout: '50ms' } },
        )
        .edge(START, 'slow')
        .compile()
      const run = await host.start(app, {})
      const error = await rejection(timePasses(clock, run.result()))
      expect(error.data).toMatchObject({ step: 'slow' })
      expect(error.cause).toMatchObject({ code: 'timeout' })
      expect(stopped).toBe(true)
    },
  },
  {
    theirs: 'tests/timeout.test.ts: addNode timeout (end-to-end): composes with a retry policy: retries then succeeds',
    idea: 'the time is counted for each attempt',
    verdict: 'same',
    async run({ host, clock }) {
      const app = stateGraph('slow-once', log)
        .node(
          'slow',
          (_state, { attempt }) => (attempt === 1 ? gate<undefined>().promise : { log: [`try ${attempt}`] }),
          {
            policy: { timeout: '80ms', attempts: 3 },
          },
        )
        .edge(START, 'slow')
        .compile()
      const run = await host.start(app, {})
      expect(await timePasses(clock, run.result())).toEqual({ log: ['try 2'] })
    },
  },
  {
    theirs:
      'tests/timeout.test.ts: _runWithRetry timeout enforcement: fires an idle timeout (kind=idle) when no progress is made',
    idea: 'a node may be stopped for being quiet, and not for being long',
    verdict: 'not-ours',
    reason:
      'A policy has one timeout, for each attempt. Whether something is stuck is known best by what runs it: agents and terminals watch that themselves.',
  },
  {
    theirs:
      'tests/node_error_handler.test.ts: Node-level error handlers: runs the error handler only after the retry policy is exhausted',
    idea: 'a failure is handled after the last attempt, with the error and the state at hand',
    verdict: 'same',
    async run({ host, clock }) {
      let attempts = 0
      const app = stateGraph('handled', { foo: channel({ default: () => '' }) })
        .start()
        .then(
          'failing',
          () => {
            attempts += 1
            throw new Error('Always fails')
          },
          { policy: { attempts: 2 } },
        )
        .catch((error, { foo }) => ({ foo: `${foo}handled: ${error.message}` }))
        .then('after', ({ foo }) => ({ foo: `${foo}_after` }))
        .end()
        .compile()
      const run = await host.start(app, {})
      expect(await timePasses(clock, run.result())).toEqual({ foo: 'handled: Always fails_after' })
      expect(attempts).toBe(2)
    },
  },
  {
    theirs:
      'tests/node_error_handler.test.ts: Node-level error handlers: lets the handler route to a recovery branch via Command(goto)',
    idea: 'who handles a failure says where it goes on',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('recovers', log)
        .start()
        .then('failing', fails('Always fails'))
        .catch(() => goto('next', { log: ['handled'] }))
        .then('passed-by', says('passed by'))
        .then('next', says('next'))
        .end()
        .compile()
      expect(await app.invoke(host, {})).toEqual({ log: ['handled', 'next'] })
    },
  },
  {
    theirs:
      'tests/node_error_handler.test.ts: Node-level error handlers: fails the run when the error handler itself throws',
    idea: 'a failure of the one who handles failures fails the run',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('bad-handler', log)
        .start()
        .then('failing', fails('Always fails'))
        .catch(fails('handler failed'))
        .end()
        .compile()
      expect((await rejection(app.invoke(host, {}))).message).toMatch(/handler failed/u)
    },
  },
  {
    theirs:
      'tests/node_error_handler.test.ts: Node-level error handlers: handles a failure that occurs inside a subgraph node',
    idea: 'a failure in a graph inside is handled around it',
    verdict: 'same',
    async run({ host }) {
      const inner = stateGraph('booms', log).node('sub-fail', fails('subgraph boom')).edge(START, 'sub-fail').compile()
      const app = stateGraph('handles-it', log)
        .start()
        .then('sub', inner, { input: () => ({}), update: (state) => state })
        .catch((error) => ({ log: [`parent: ${error.message}`] }))
        .end()
        .compile()
      expect((await app.invoke(host, {})).log[0]).toMatch(/parent: .*subgraph boom/u)
    },
  },
  {
    theirs:
      'tests/node_error_handler.test.ts: Node-level error handlers: preserves the failure context across a checkpoint resume',
    idea: 'the error is still there for its handler after a restart',
    verdict: 'same',
    async run({ host }) {
      const seen: Error[] = []
      const app = stateGraph('error-kept', log)
        .start()
        .then('failing', () => {
          throw new TypeError('failed before handler', { cause: new Error('why') })
        })
        .catch((error) => {
          seen.push(error)
          return { log: [`${error.name}: ${error.message}`] }
        })
        .end()
        .compile()
      const run = await host.start(app, {})
      expect(await run.result()).toEqual({ log: ['TypeError: failed before handler'] })
      // The handler runs once more, with an error that was read from the journal.
      const again = await run.fork({ at: 'catch' })
      expect(await again.result()).toEqual({ log: ['TypeError: failed before handler'] })
      expect(seen.map((error) => [error instanceof Error, (error.cause as Error).message])).toEqual([
        [true, 'why'],
        [true, 'why'],
      ])
    },
  },
  {
    theirs:
      "tests/node_error_handler.test.ts: Node-level error handlers: routes a failure to the matching node's handler",
    idea: 'a handler belongs to one node',
    verdict: 'differs',
    reason:
      'A catch handles what fails before it in its part of the chain, as in code. A handler for one node stands right behind that node, or is the policy onError of it.',
    async run({ host }) {
      const app = stateGraph('two-handlers', log)
        .start()
        .then('fail-a', fails('a failed'))
        .catch((error) => ({ log: [`first: ${error.message}`] }))
        .then('fail-b', fails('b failed'))
        .catch((error) => ({ log: [`second: ${error.message}`] }))
        .then('fail-c', fails('c failed'), { policy: { onError: { fallback: says('by policy') } } })
        .end()
        .compile()
      expect(await app.invoke(host, {})).toEqual({ log: ['first: a failed', 'second: b failed', 'by policy'] })
    },
  },
  {
    theirs:
      'tests/node_error_handler.test.ts: Node-level error handlers: still fails the run for a node without an error handler',
    idea: 'a failure that nobody handles fails the run, and says where',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('unhandled', log).node('fail', fails('no handler')).edge(START, 'fail').compile()
      const run = await host.start(app, {})
      expect((await rejection(run.result())).message).toMatch(/at step 'fail': no handler/u)
      expect((await host.run(run.id)).status).toBe('failed')
    },
  },
  {
    theirs:
      'tests/set_node_defaults.test.ts: StateGraph.setNodeDefaults: applies the default retryPolicy to nodes without their own',
    idea: 'a policy for all nodes of a graph that have none of their own',
    verdict: 'not-ours',
    reason:
      'A policy is plain data, so one that many nodes share is a constant. What each node does is then said at the node, and nothing far away changes it.',
    async run({ host, clock }) {
      const often = { policy: { attempts: 3 } } as const
      let tries = 0
      const app = stateGraph('shared-policy', log)
        .node('flaky', () => (++tries < 3 ? fails('not yet')() : { log: ['ok'] }), often)
        .node('other', says('other'), often)
        .edge(START, 'flaky')
        .edge('flaky', 'other')
        .compile()
      const run = await host.start(app, {})
      expect(await timePasses(clock, run.result())).toEqual({ log: ['ok', 'other'] })
    },
  },
  {
    theirs:
      'tests/set_node_defaults.test.ts: StateGraph.setNodeDefaults: applies the default cachePolicy to nodes without their own',
    idea: 'the result of a node is kept in a cache, for other runs too',
    verdict: 'not-ours',
    reason:
      'Within a run the journal is the cache: a step that has ended does not run again. Between runs, a fork shares what was done; anything else is a cache that the node itself keeps.',
  },
  {
    theirs: 'tests/python_port/interrupt.test.ts: should cancel node task when another node throws an exception',
    idea: 'when a node fails, those beside it are stopped, and the run fails with that error',
    verdict: 'same',
    async run({ host }) {
      let stopped = false
      const app = stateGraph('stops-others', log)
        .node('agent', (_state, { signal }) => {
          const held = gate<undefined>()
          signal.addEventListener('abort', () => {
            stopped = true
            held.reject(new Error('AbortError'))
          })
          return held.promise
        })
        .node('bad', fails('I am bad'))
        .edge(START, 'agent')
        .edge(START, 'bad')
        .compile()
      expect((await rejection(app.invoke(host, {}))).message).toMatch(/I am bad/u)
      await until(() => stopped)
    },
  },
  {
    theirs: 'tests/pregel/pregel.cancellation.test.ts: Pregel AbortSignal',
    idea: 'a run is cancelled from outside, and its nodes are told',
    verdict: 'same',
    async run({ host }) {
      let told = false
      const app = stateGraph('cancelled', log)
        .node('long', (_state, { signal }) => {
          signal.addEventListener('abort', () => (told = true))
          return gate<undefined>().promise
        })
        .node('never', says('never'))
        .edge(START, 'long')
        .edge('long', 'never')
        .compile()
      const run = await host.start(app, {})
      await run.cancel({ reason: 'enough' })
      expect(await rejection(run.result())).toMatchObject({ code: 'cancelled' })
      expect(told).toBe(true)
      expect((await host.run(run.id)).status).toBe('cancelled')
    },
  },
  {
    theirs:
      'tests/run_control.test.ts: Graph draining: an external concurrent drain stops the graph at the next boundary',
    idea: 'a run stops after what runs now, and can go on later',
    verdict: 'same',
    async run({ host }) {
      const held = gate()
      const app = stateGraph('drained', log)
        .node('first', async () => {
          await held.promise
          return { log: ['first'] }
        })
        .node('second', says('second'))
        .edge(START, 'first')
        .edge('first', 'second')
        .compile()
      const run = await host.start(app, {})
      await run.pause({ by: 'sigterm' })
      held.resolve()
      expect(await run.rest()).toBe('paused')
      await run.resume()
      expect(await run.result()).toEqual({ log: ['first', 'second'] })
    },
  },
  {
    theirs: 'tests/python_port/checkpoint.test.ts: should test pending writes resume functionality',
    idea: 'after one of two nodes has failed, only that one runs again',
    verdict: 'differs',
    reason:
      'The result of the other one is kept, and is not made again. But a failed run has ended: it goes on as a fork, and the failed one stays to be looked at.',
    async run({ host }) {
      const calls = { one: 0, two: 0 }
      let broken = true
      const app = stateGraph('one-of-two', {
        value: channel({ default: () => 0, reducer: (a: number, b: number) => a + b }),
      })
        .node('one', () => {
          calls.one += 1
          return { value: 2 }
        })
        .node('two', async () => {
          calls.two += 1
          await quiet()
          if (broken) throw new Error("I'm not good")
          return { value: 3 }
        })
        .edge(START, 'one')
        .edge(START, 'two')
        .compile()
      const run = await host.start(app, { value: 1 })
      expect((await rejection(run.result())).message).toMatch(/not good/u)
      broken = false
      expect(await (await forkBeforeFailure(host, run)).result()).toEqual({ value: 6 })
      expect(calls).toEqual({ one: 1, two: 2 })
      expect((await host.run(run.id)).status).toBe('failed')
    },
  },
]

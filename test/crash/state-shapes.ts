/** Shapes of state graphs for the crash matrix: a loop, nodes that come together, and a chain that waits and catches. */
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { workflow, type StepCall } from 'nerve'
import { END, START, channel, fileSaver, send, stateGraph } from 'nerve/state'
import { crashFolder, witnessEffect } from '../../src/testing/crash-harness.ts'
import { answering, chain, type Shape } from './shape.ts'

/** Says what it does, and takes a moment. */
async function doing<Value>(call: StepCall, value: Value, ms = 1): Promise<Value> {
  witnessEffect(call)
  await delay(ms, undefined, { signal: call.signal })
  return value
}

const channels = { log: channel.concat<string>(), sum: channel<number>({ default: () => 0, reducer: (a, b) => a + b }) }

/** Goes round, and keeps a checkpoint in a file after every step. The folder is known when it runs. */
const loop = stateGraph('state-loop', channels)
  .node('add', ({ sum }, call) => doing(call, { sum: 1, log: [`add ${sum}`] }))
  .node('note', ({ sum }, call) => doing(call, { log: [`note ${sum}`] }))
  .edge(START, 'add')
  .edge('add', 'note')
  .edges('note', ({ sum }) => (sum < 4 ? 'add' : END), ['add', END])
  .compile({
    saver: {
      save: (checkpoint) => saver().save(checkpoint),
      load: (run, id) => saver().load(run, id),
      list: (run) => saver().list(run),
      delete: (run, id) => saver().delete(run, id),
    },
    returns: ({ log, sum }) => [sum, log.join()],
  })

function saver() {
  return fileSaver(join(crashFolder(), 'checkpoints'))
}

const inner = workflow('inner', (ctx, n: number) => chain(ctx, 'inner', n))

/** Nodes side by side of different lengths, items, and a definition, which all come together. */
const joins = stateGraph('state-join', channels)
  .node('plan', (_state, call) => doing(call, [send('item', 1), send('item', 2), send('item', 3)]))
  .each('item', (n: number, _state, call) => doing(call, { sum: n, log: [`item ${n}`] }, 4 - n))
  .node('long', (_state, call) => doing(call, { log: ['long'] }, 3))
  .node('longer', (_state, call) => doing(call, { log: ['longer'] }))
  .node('sub', inner, { input: () => 4, update: (total) => ({ sum: total, log: ['sub'] }) })
  .node('last', ({ log }, call) => doing(call, { log: [`last saw ${log.length}`] }))
  .edge(START, 'plan')
  .edge(START, 'long')
  .edge('long', 'longer')
  .edge(START, 'sub')
  .edge(['item', 'longer', 'sub'], 'last')
  .compile({ maxParallel: 2, returns: ({ log, sum }) => [sum, log.join()] })

/** Branches of which one waits for a person and one fails for good; what fails is caught. */
const waits = stateGraph('state-wait', channels)
  .start()
  .then('first', (_state, call) => doing(call, { log: ['first'] }))
  .loop({ until: (_state, { iteration }) => iteration === 2 }, (body) =>
    body
      .parallel({
        branches: {
          person: (branch) => branch.wait('Go on?', { choices: ['yes', 'no'], into: (answer) => ({ log: [answer] }) }),
          machine: (branch) =>
            branch
              .then('one', (_state, call) => doing(call, { log: ['one'], sum: 1 }))
              .then('two', (_state, call) => doing(call, { log: ['two'], sum: 2 })),
        },
      })
      .then('breaks', async (_state, call) => {
        await doing(call, undefined)
        throw new Error('broken')
      })
      .catch(async (error, _state, call) => doing(call, { log: [error.message] })),
  )
  .end()
  .compile({ returns: ({ log, sum }) => [sum, log.join()] })

export const STATE_SHAPES: Readonly<Record<string, Shape>> = {
  'state-loop': {
    definitions: [loop],
    input: {},
    expected: [4, 'add 0,note 1,add 1,note 2,add 2,note 3,add 3,note 4'],
  },
  'state-join': {
    definitions: [joins],
    input: {},
    expected: [16, 'long,sub,item 1,item 2,item 3,longer,last saw 6'],
  },
  'state-wait': {
    definitions: [waits],
    input: {},
    expected: [6, 'first,yes,one,two,broken,yes,one,two,broken'],
    act: answering({ ask: 'yes', recovery: 'fail' }),
  },
}

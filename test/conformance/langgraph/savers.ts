/** Checkpointers: keeping states elsewhere, and going on from what was kept. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import {
  END,
  START,
  channel,
  fileSaver,
  memorySaver,
  researchSaver,
  send,
  stateGraph,
  type Checkpoint,
  type CompileOptions,
  type Saver,
} from 'nerve/state'
import { gate, openStage, quiet, rejection } from '../../behaviour/stage.ts'
import { emittedBy, reply, stepsOf, type Case } from './case.ts'

const log = { log: channel.concat<string>() }

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'nerve-savers-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

const savers = (): readonly (readonly [string, Saver])[] => [
  ['memory', memorySaver()],
  ['file', fileSaver(folder())],
  ['research', researchSaver(folder())],
]

type Options = Pick<CompileOptions<unknown, unknown>, 'saver' | 'onSaverError'>

const twoNodes = (name: string, options: Options) => {
  const called: string[] = []
  const says = (line: string) => () => {
    called.push(line)
    return { log: [line] }
  }
  const app = stateGraph(name, log)
    .node('a', says('a'))
    .node('b', says('b'))
    .edge(START, 'a')
    .edge('a', 'b')
    .compile(options)
  return { app, called }
}

const sample = (run: string, step: number): Checkpoint => ({
  id: String(step),
  run,
  definition: 'sample',
  step,
  nodes: ['a'],
  state: { list: ['dog', 'fish'], none: null, deep: { flag: false, when: new Date(0) } },
  next: ['b'],
  pending: { items: { b: [1, 'two'] }, loops: { loop: 2 } },
  time: 1_000 + step,
})

export const checkpointers: readonly Case[] = [
  {
    theirs: 'checkpoint-validation/src/spec/put.ts: should store the checkpoint without alteration',
    idea: 'what is loaded is what was saved',
    verdict: 'same',
    async run() {
      for (const [name, saver] of savers()) {
        await saver.save(sample('r', 1))
        expect([name, await saver.load('r', '1')]).toEqual([name, sample('r', 1)])
      }
    },
  },
  {
    theirs: 'checkpoint-validation/src/spec/get_tuple.ts: should return a tuple containing the latest checkpoint',
    idea: 'without an id the latest is loaded; what is not there is undefined',
    verdict: 'same',
    async run() {
      for (const [name, saver] of savers()) {
        for (const step of [1, 2, 10]) await saver.save(sample('r', step))
        expect([name, (await saver.load('r'))?.step]).toEqual([name, 10])
        expect(await saver.load('r', '3')).toBeUndefined()
        expect(await saver.load('nobody')).toBeUndefined()
      }
    },
  },
  {
    theirs: 'checkpoint-validation/src/spec/list.ts: list',
    idea: 'the checkpoints of a run are listed, and narrowed down by metadata, a limit and a cursor',
    verdict: 'differs',
    reason:
      'A list has what is short of every checkpoint of one run, the earliest first. It is a list: the language filters it.',
    async run() {
      for (const [name, saver] of savers()) {
        for (const step of [2, 1, 10]) await saver.save(sample('r', step))
        await saver.save(sample('other', 5))
        const found = await saver.list('r')
        expect([name, found.map(({ step }) => step)]).toEqual([name, [1, 2, 10]])
        expect('state' in (found[0] ?? {})).toBe(false)
      }
    },
  },
  {
    theirs: 'checkpoint-validation/src/spec/delete_thread.ts: should delete thread',
    idea: 'everything of one run is deleted, and nothing of another',
    verdict: 'same',
    async run() {
      for (const [name, saver] of savers()) {
        for (const run of ['one', 'two']) for (const step of [1, 2]) await saver.save(sample(run, step))
        await saver.delete('two', '1')
        await saver.delete('one')
        expect([name, await saver.list('one'), (await saver.list('two')).map(({ id }) => id)]).toEqual([
          name,
          [],
          ['2'],
        ])
      }
    },
  },
  {
    theirs: 'checkpoint-validation/src/spec/put_writes.ts: should store writes to the checkpoint',
    idea: 'a checkpointer also keeps what single nodes wrote in a step that has not ended',
    verdict: 'not-ours',
    reason:
      'That is what the journal is for: every result is committed before anything follows from it, whether there is a saver or not. A saver keeps whole states between steps.',
    async run({ host }) {
      const saver = memorySaver()
      const held = gate()
      const app = stateGraph('half-saved', log)
        .node('one', () => ({ log: ['one'] }))
        .node('two', async () => {
          await held.promise
          return { log: ['two'] }
        })
        .edge(START, 'one')
        .edge(START, 'two')
        .compile({ saver })
      const run = await host.start(app, {})
      await quiet()
      expect(await saver.list(run.id)).toEqual([])
      expect(await stepsOf(host, run.id)).toEqual(['one'])
      held.resolve()
      await run.result()
      expect((await saver.load(run.id))?.state).toEqual({ log: ['one', 'two'] })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: Channel: obtain correct channel values from checkpointer',
    idea: 'a run saves its state after every step, with what comes next',
    verdict: 'same',
    async run({ host }) {
      for (const [name, saver] of savers()) {
        const { app } = twoNodes(`saved-${name}`, { saver })
        const run = await host.start(app, { log: ['in'] })
        await run.result()
        expect((await saver.list(run.id)).map(({ step, nodes, next }) => ({ step, nodes, next }))).toEqual([
          { step: 1, nodes: ['a'], next: ['b'] },
          { step: 2, nodes: ['b'], next: [] },
        ])
        expect((await saver.load(run.id))?.state).toEqual({ log: ['in', 'a', 'b'] })
      }
    },
  },
  {
    theirs:
      'tests/delta_channel.test.ts: DeltaChannel end-to-end via StateGraph: reconstructs from a fresh graph instance (cold read)',
    idea: 'a run goes on from what was saved, elsewhere, without anything but the saver',
    verdict: 'same',
    async run({ host }) {
      for (const [name, saver] of savers()) {
        const { app, called } = twoNodes(`resumed-${name}`, { saver })
        const run = await host.start(app, { log: ['in'] })
        await run.result()
        called.length = 0
        const elsewhere = await openStage()
        const other = await app.resumeFrom(elsewhere.host, saver, run.id, '1')
        expect(await other.result()).toEqual({ log: ['in', 'a', 'b'] })
        expect(called).toEqual(['b'])
        expect(await elsewhere.host.replay(other.id)).toMatchObject({ same: true })
      }
    },
  },
  {
    theirs:
      'tests/time_travel.test.ts: Time Travel Tests: PR #7038: Replay behavior for parent + subgraphs: should replay from checkpoint before interrupt and strip stale RESUME writes',
    idea: 'going on from a checkpoint before a question asks it again, with what was sent still there',
    verdict: 'same',
    async run({ host }) {
      const saver = memorySaver()
      const app = stateGraph('saved-items', log)
        .node('plan', () => [send('read', 'x'), send('read', 'y')])
        .each('read', (item: string) => ({ log: [item] }))
        .wait('ask', 'well?', { into: (answer: string) => ({ log: [answer] }) })
        .edge(START, 'plan')
        .edge('read', 'ask')
        .compile({ saver })
      const run = await host.start(app, {})
      await reply(host, run, 'well?', 'old')
      await run.result()
      const other = await app.resumeFrom(host, saver, run.id, '1')
      await reply(host, other, 'well?', 'new')
      expect(await other.result()).toEqual({ log: ['x', 'y', 'new'] })
    },
  },
  {
    theirs: 'tests/python_port/checkpoint.test.ts: should test invoke checkpoint functionality',
    idea: 'every checkpoint is a place to go on from: joins half done, loops, errors on their way to a handler',
    verdict: 'same',
    async run({ host }) {
      const saver = memorySaver()
      const says = (line: string) => () => ({ log: [line] })
      const joined = stateGraph('half-joined', log)
        .node('s', says('s'))
        .node('a', says('a'))
        .node('m', says('m'))
        .node('b', says('b'))
        .node('c', says('c'))
        .edge(START, 's')
        .edge('s', 'a')
        .edge('s', 'm')
        .edge('m', 'b')
        .edge(['a', 'b'], 'c')
        .edges('c', (state) => (state.log.length < 10 ? 's' : END), ['s', END])
        .compile({ saver })
      const chained = stateGraph('in-a-chain', log)
        .start()
        .loop({ until: (_state, { iteration }) => iteration === 2 }, (body) =>
          body
            .then('x', says('x'))
            .loop({ until: (_state, { iteration }) => iteration === 2 }, (inner) => inner.then('y', says('y'))),
        )
        .then('bad', () => {
          throw new TypeError('oops')
        })
        .catch((error) => ({ log: [`${error.name}: ${error.message}`] }))
        .end()
        .compile({ saver })
      for (const app of [joined, chained]) {
        const run = await host.start(app, {})
        const result = await run.result()
        const kept = await saver.list(run.id)
        expect(kept.length).toBeGreaterThan(7)
        for (const { id } of kept)
          expect(await (await app.resumeFrom(host, saver, run.id, id)).result()).toEqual(result)
      }
    },
  },
  {
    theirs: 'tests/pregel.test.ts: Pregel: checkpoint error handling: should catch checkpoint errors',
    idea: 'a checkpointer that fails fails the run',
    verdict: 'differs',
    reason:
      'The run does not depend on a saver: the journal has everything. So a failing saver is reported in the journal and the run goes on, unless onSaverError says that it fails.',
    async run({ host }) {
      const faulty: Saver = { ...memorySaver(), save: () => Promise.reject(new Error('Faulty put')) }
      const reports = twoNodes('saver-reported', { saver: faulty })
      const run = await host.start(reports.app, {})
      expect(await run.result()).toEqual({ log: ['a', 'b'] })
      expect((await emittedBy(host, run.id)).map(([name]) => name)).toEqual(['checkpoint-failed', 'checkpoint-failed'])
      const failing = twoNodes('saver-fails', { saver: faulty, onSaverError: 'fail' })
      expect((await rejection(failing.app.invoke(host, {}))).message).toMatch(/Faulty put/u)
      expect(failing.called).toEqual(['a'])
    },
  },
  {
    theirs: 'tests/python_port/checkpoint.test.ts: should handle various checkpoint errors',
    idea: 'a checkpointer that cannot read is an error for the one who wanted to go on from it',
    verdict: 'same',
    async run({ host }) {
      const saver: Saver = { ...memorySaver(), load: () => Promise.reject(new Error('Faulty get')) }
      const { app } = twoNodes('saver-unreadable', {})
      expect((await rejection(app.resumeFrom(host, saver, 'some-run'))).message).toMatch(/Faulty get/u)
      expect(await rejection(app.resumeFrom(host, memorySaver(), 'some-run'))).toMatchObject({ code: 'not-found' })
      expect(await host.runs()).toEqual([])
    },
  },
  {
    theirs:
      'tests/durability.sync.test.ts: sync durability: waits for completed-superstep persistence before dispatching the next node via %s',
    idea: 'what a step made is stored before the next one starts',
    verdict: 'same',
    async run({ host }) {
      const slow = gate()
      const { app, called } = twoNodes('stored-first', {
        saver: { ...memorySaver(), save: () => slow.promise },
      })
      const run = await host.start(app, {})
      await quiet()
      expect(called).toEqual(['a'])
      slow.resolve()
      await run.result()
      expect(called).toEqual(['a', 'b'])
    },
  },
  {
    theirs:
      'tests/durability.sync.test.ts: sync durability: allows the next node to start while prior persistence is pending in async mode',
    idea: 'storing may be put off until later, or to the end',
    verdict: 'not-ours',
    reason:
      'A result is used only after it is committed, always: a crash must not take back what others have acted on. What may be chosen is what a commit survives, a kill or a power cut.',
  },
  {
    theirs:
      'tests/checkpointer.test.ts: JsonPlusSerializer checkpoint restoration security: does not execute a forged value in run metadata during state restoration',
    idea: 'a checkpoint that was tampered with is read as data, and never run',
    verdict: 'same',
    async run({ host }) {
      const saver = memorySaver()
      const { app } = twoNodes('tampered', {})
      const forged = { log: [{ lc: 1, type: 'constructor', id: ['x'], kwargs: {} }] }
      await saver.save({ ...sample('r', 1), definition: 'tampered', state: forged, next: ['b'], pending: {} })
      expect(await (await app.resumeFrom(host, saver, 'r')).result()).toEqual({ log: [...forged.log, 'b'] })
      await saver.save({ ...sample('r', 2), definition: 'tampered', state: { log: [] }, next: ['rm -rf'], pending: {} })
      expect((await rejection(app.resumeFrom(host, saver, 'r'))).message).toMatch(/there is no node 'rm -rf'/u)
    },
  },
]

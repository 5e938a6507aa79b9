import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isNerveError, workflow } from 'nerve'
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
  type Saver,
} from 'nerve/state'
import { emitted } from './journal-views.ts'
import { openStage, rejection } from './stage.ts'

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'nerve-savers-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const SAVERS: readonly (readonly [string, () => Saver])[] = [
  ['memory', () => memorySaver()],
  ['file', () => fileSaver(newFolder())],
  ['research', () => researchSaver(newFolder())],
]

function checkpoint(more: Partial<Checkpoint> = {}): Checkpoint {
  return {
    id: '1',
    run: 'run',
    definition: 'graph',
    step: 1,
    nodes: ['a'],
    state: { text: 'one' },
    next: ['b'],
    time: 5,
    ...more,
  }
}

describe.each(SAVERS)('a %s saver', (_name, open) => {
  it('gives back what was saved, the latest or one by its id', async () => {
    const saver = open()
    expect(await saver.load('run')).toBeUndefined()
    expect(await saver.list('run')).toEqual([])
    const steps = [1, 2, 10].map((step) => checkpoint({ id: String(step), step, state: { text: `after ${step}` } }))
    for (const one of [steps[1], steps[2], steps[0]]) await saver.save(one as Checkpoint)
    await saver.save(checkpoint({ run: 'other', state: { text: 'other' } }))
    expect(await saver.load('run')).toEqual(steps[2])
    expect(await saver.load('run', '1')).toEqual(steps[0])
    expect(await saver.load('run', '3')).toBeUndefined()
    const info = steps.map(({ state: _state, ...rest }) => rest)
    expect(await saver.list('run')).toEqual(info)
    await saver.save({ ...(steps[0] as Checkpoint), state: { text: 'again' } })
    expect(await saver.list('run')).toEqual(info)
    expect((await saver.load('run', '1'))?.state).toEqual({ text: 'again' })
  })

  it('removes one or all of a run', async () => {
    const saver = open()
    for (const step of [1, 2]) await saver.save(checkpoint({ id: String(step), step }))
    await saver.save(checkpoint({ run: 'other' }))
    await saver.delete('run', '2')
    await saver.delete('run', '9')
    expect((await saver.list('run')).map(({ id }) => id)).toEqual(['1'])
    await saver.delete('run')
    await saver.delete('run')
    expect(await saver.load('run')).toBeUndefined()
    expect(await saver.load('other')).toBeDefined()
  })

  it('keeps everything that a journal can keep', async () => {
    const saver = open()
    const state = {
      text: 'lines\n```json\n{}\n```\n---\n<!-- nerve:checkpoint -->',
      date: new Date(7),
      map: new Map([[1, new Set(['x'])]]),
      big: 12n,
      bytes: new Uint8Array([1, 2]),
      odd: { $nerve: 'not a tag', '': [null, -0, Number.NaN] },
    }
    const pending = { items: { read: [1, 'two'] }, joins: { 'a+b>c': ['a'] }, loops: { loop: 3 } }
    await saver.save(checkpoint({ state, pending }))
    expect(await saver.load('run', '1')).toEqual(checkpoint({ state, pending }))
    expect(await saver.list('run')).toHaveLength(1)
  })

  it('does not share what it keeps', async () => {
    const saver = open()
    const list = ['a']
    await saver.save(checkpoint({ state: { list } }))
    list.push('b')
    const loaded = await saver.load('run')
    expect((loaded?.state['list'] as string[] | undefined)?.push('c')).toBe(2)
    expect((await saver.load('run'))?.state).toEqual({ list: ['a'] })
  })

  it('keeps runs and checkpoints with odd ids apart', async () => {
    const saver = open()
    const odd = [
      '..',
      '../run',
      '/etc/run',
      'run/1',
      'run\\1',
      'RUN',
      'a b',
      'ü',
      '%2e',
      'nul\0',
      'x'.repeat(300),
      '.',
      '~',
    ]
    for (const id of odd) await saver.save(checkpoint({ run: id, id: `${id}/1`, state: { text: id } }))
    for (const id of odd) {
      expect((await saver.load(id))?.state).toEqual({ text: id })
      expect((await saver.load(id, `${id}/1`))?.run).toBe(id)
      expect(await saver.list(id)).toHaveLength(1)
    }
    expect(await saver.load('run')).toBeUndefined()
  })

  it('is fed by runs at the same time, and each can be resumed from any of its checkpoints', async () => {
    const saver = open()
    const { host } = await openStage()
    const counting = stateGraph('counting', { count: channel<number>(), log: channel.concat<string>() })
      .node('add', ({ count }) => ({ count: count + 1, log: [`add ${count}`] }))
      .node('plan', () => [send('item', 'x'), send('item', 'y')])
      .each('item', (item: string) => ({ log: [item] }))
      .edge(START, 'add')
      .edges('add', ({ count }) => (count % 3 === 0 ? 'plan' : 'add'), ['plan', 'add'])
      .edge('item', END)
      .compile({ saver })
    const runs = await Promise.all([0, 30, 60].map((count) => host.start(counting, { count })))
    const ends = await Promise.all(runs.map((run) => run.result()))
    for (const [index, run] of runs.entries()) {
      const start = index * 30
      const end = { count: start + 3, log: [`add ${start}`, `add ${start + 1}`, `add ${start + 2}`, 'x', 'y'] }
      expect(ends[index]).toEqual(end)
      const list = await saver.list(run.id)
      expect(list.map(({ id, nodes, next }) => [id, nodes, next])).toEqual([
        ['1', ['add'], ['add']],
        ['2', ['add'], ['add']],
        ['3', ['add'], ['plan']],
        ['4', ['plan'], ['item']],
        ['5', ['item'], []],
      ])
      expect(await emitted(host, run.id)).toEqual(list.map(({ id, step }) => ['checkpoint', { id, step }]))
      expect(await host.replay(run.id)).toMatchObject({ same: true })
      for (const { id } of list) {
        const again = await counting.resumeFrom(host, saver, run.id, id)
        expect(await again.result()).toEqual(end)
        expect(await host.replay(again.id)).toMatchObject({ same: true })
      }
      expect(await (await counting.resumeFrom(host, saver, run.id)).result()).toEqual(end)
    }
  })
})

describe('files of savers', () => {
  it('stay inside their folder, and leave other files alone', async () => {
    const folder = newFolder()
    const saver = fileSaver(join(folder, 'inside'))
    await saver.save(checkpoint({ run: '../../outside', id: '../x' }))
    expect(readdirSync(folder)).toEqual(['inside'])
    const [run = ''] = readdirSync(join(folder, 'inside'))
    expect(readdirSync(join(folder, 'inside', run))).toEqual(['00000001-%2e%2e%2fx.json'])
    writeFileSync(join(folder, 'inside', run, 'notes.json'), 'mine')
    writeFileSync(join(folder, 'inside', run, '00000009.json.12.tmp'), 'half')
    expect(await saver.list('../../outside')).toHaveLength(1)
    await saver.delete('../../outside')
    expect(readdirSync(join(folder, 'inside', run)).toSorted()).toEqual(['00000009.json.12.tmp', 'notes.json'])
  })

  it('can be read by people, and edited', async () => {
    const folder = newFolder()
    const saver = researchSaver(folder)
    const { host } = await openStage()
    const review = stateGraph('review', {
      topic: channel<string>(),
      notes: channel.concat<string>(),
      meta: channel.merge<{ pages: number; author: string }>(),
    })
      .node('read', ({ topic }) => ({ notes: [`About ${topic}`, 'Two\nlines'], meta: { pages: 3, author: 'Ada' } }))
      .node('write', ({ topic, notes }) => ({ topic: `${topic}: ${notes.length} notes` }))
      .edge(START, 'read')
      .edge('read', 'write')
      .compile({ saver })
    const run = await host.start(review, { topic: 'Bees\n# not a heading' })
    await run.result()
    const file = join(folder, run.id, '00000001.md')
    const text = readFileSync(file, 'utf8')
    const [, time] = /^time: "(.*)"$/mu.exec(text) ?? []
    expect(text.slice(0, text.indexOf('```json'))).toBe(`---
run: "${run.id}"
definition: "review"
checkpoint: "1"
step: 1
nodes: ["read"]
next: ["write"]
time: "${time}"
---

# review, step 1

Ran: \`read\`. Next: \`write\`.

## topic

> Bees
> # not a heading

## notes

- About Bees # not a heading
- Two lines

## meta

- pages: 3
- author: Ada

## Data

<!-- nerve:checkpoint: a run is resumed from the JSON below, which may be edited. -->

`)
    writeFileSync(file, text.replace('"Two\\nlines"', '"Two\\nlines", "by hand"').replaceAll('\n', '\r\n'))
    const again = await review.resumeFrom(host, saver, run.id, '1')
    expect(await again.result()).toMatchObject({ topic: 'Bees\n# not a heading: 3 notes' })
  })

  it('that cannot be used say why, and start nothing', async () => {
    const folder = newFolder()
    const saver = fileSaver(folder)
    const { host } = await openStage()
    const small = stateGraph('small', { text: channel<string>() })
      .node('a', () => ({ text: 'a' }))
      .each('items', (_item: number) => undefined)
      .edge(START, 'a')
      .compile()
    const trying = async (more: object | string): Promise<string> => {
      await saver.save(checkpoint({ definition: 'small', next: ['a'] }))
      const file = join(folder, 'run', '00000001.json')
      const text =
        typeof more === 'string'
          ? more
          : JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), ...more })
      writeFileSync(file, text)
      const error = await rejection(small.resumeFrom(host, saver, 'run'))
      expect(isNerveError(error)).toBe(true)
      return error.message
    }
    expect(await trying('{')).toMatch(/00000001.json cannot be used: .*JSON/u)
    expect(await trying('7')).toMatch(/it is not an object/u)
    expect(await trying({ step: 'one', next: 7 })).toMatch(/not what they should be: step, next/u)
    expect(await trying({ run: 'another' })).toMatch(/says that it is of run another/u)
    expect(await trying({ definition: 'large' })).toMatch(/is a run of 'large', not of state graph 'small'/u)
    expect(await trying({ state: { txt: 1 } })).toMatch(/'txt' is not a channel/u)
    expect(await trying({ next: ['b'] })).toMatch(/there is no node 'b'. Nodes: a, items/u)
    expect(await trying({ next: ['items'] })).toMatch(/pending.items has none for it/u)
    expect(await trying({ step: -1 })).toMatch(/step is -1/u)
    await saver.delete('run')
    expect((await rejection(small.resumeFrom(host, saver, 'run'))).message).toMatch(/no checkpoint of run run/u)
    expect((await rejection(small.resumeFrom(host, saver, 'run', '4'))).message).toMatch(/no checkpoint 4 of run run/u)
    expect((await rejection(small.resumeFrom(host, saver, ''))).message).toMatch(/id of a run is empty/u)
    expect(await host.runs()).toEqual([])
  })
})

describe('a saver that fails', () => {
  const failing = (): Saver => ({ ...memorySaver(), save: () => Promise.reject(new Error('the disk is full')) })

  it('is reported, and the run goes on', async () => {
    const { host } = await openStage()
    const graph = stateGraph('careful', { count: channel({ default: () => 0 }) })
      .node('a', () => ({ count: 1 }))
      .node('b', ({ count }) => ({ count: count + 1 }))
      .edge(START, 'a')
      .edge('a', 'b')
      .compile({ saver: failing() })
    const run = await host.start(graph, {})
    expect(await run.result()).toEqual({ count: 2 })
    expect((await host.run(run.id)).status).toBe('completed-with-failures')
    expect(await emitted(host, run.id)).toEqual([
      ['checkpoint-failed', { step: 1, error: 'the disk is full' }],
      ['checkpoint-failed', { step: 2, error: 'the disk is full' }],
    ])
    const failed = (await host.journal(run.id)).flatMap(({ event }) =>
      event.type === 'step-failed' ? [[event.path, event.error.message]] : [],
    )
    expect(failed).toEqual([
      ['checkpoint', 'the disk is full'],
      ['checkpoint#2', 'the disk is full'],
    ])
    expect(await host.replay(run.id)).toMatchObject({ same: true })
  })

  it('fails the run when that is wanted', async () => {
    const { host } = await openStage()
    const graph = stateGraph('strict', { count: channel({ default: () => 0 }) })
      .node('a', () => ({ count: 1 }))
      .edge(START, 'a')
      .compile({ saver: failing(), onSaverError: 'fail' })
    const run = await host.start(graph, {})
    expect((await rejection(run.result())).message).toMatch(/the disk is full/u)
  })
})

describe('checkpoints', () => {
  it('of graphs inside other definitions keep their own ids', async () => {
    const { host } = await openStage()
    const saver = memorySaver()
    const inner = stateGraph('inner', { count: channel({ default: () => 0 }) })
      .node('a', ({ count }) => ({ count: count + 1 }))
      .node('b', ({ count }) => ({ count: count * 10 }))
      .edge(START, 'a')
      .edge('a', 'b')
      .compile({ saver })
    const outer = workflow('outer', (ctx) => ctx.map([1, 2], (count) => ctx.run(inner, { count })))
    const run = await host.start(outer)
    expect(await run.result()).toEqual([{ count: 20 }, { count: 30 }])
    expect((await saver.list(run.id)).map(({ id }) => id)).toEqual([
      'map/0/inner/1',
      'map/1/inner/1',
      'map/0/inner/2',
      'map/1/inner/2',
    ])
    const again = await inner.resumeFrom(host, saver, run.id, 'map/1/inner/1')
    expect(await again.result()).toEqual({ count: 30 })
  })

  it('remember how far joins and loops are, and which error is handled', async () => {
    const { host } = await openStage()
    const saver = memorySaver()
    const joined = stateGraph('joined', { log: channel.concat<string>() })
      .node('short', () => ({ log: ['short'] }))
      .node('long', () => ({ log: ['long'] }))
      .node('longer', () => ({ log: ['longer'] }))
      .node('both', () => ({ log: ['both'] }))
      .edge(START, 'short')
      .edge(START, 'long')
      .edge('long', 'longer')
      .edge(['short', 'longer'], 'both')
      .compile({ saver })
    const first = await host.start(joined, {})
    const end = await first.result()
    for (const id of ['1', '2', '3'])
      expect(await (await joined.resumeFrom(host, saver, first.id, id)).result()).toEqual(end)
    const looping = stateGraph('looping', { log: channel.concat<string>() })
      .start()
      .loop({ until: (_state, { iteration }) => iteration === 3 }, (body) => body.then('in', () => ({ log: ['in'] })))
      .then('breaks', () => {
        throw new Error('broken')
      })
      .catch((error) => ({ log: [error.message] }))
      .end()
      .compile({ saver })
    const second = await host.start(looping, {})
    expect(await second.result()).toEqual({ log: ['in', 'in', 'in', 'broken'] })
    for (const { id } of await saver.list(second.id)) {
      const again = await looping.resumeFrom(host, saver, second.id, id)
      expect(await again.result()).toEqual({ log: ['in', 'in', 'in', 'broken'] })
      expect(await host.replay(again.id)).toMatchObject({ same: true })
    }
  })
})

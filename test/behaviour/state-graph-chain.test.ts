import { describe, expect, it } from 'vitest'
import { defineNode, isNerveError } from 'nerve'
import { channel, goto, stateGraph } from 'nerve/state'
import { emitted, expectSame, paths } from './journal-views.ts'
import { gate, openStage, quiet, rejection, until } from './stage.ts'

const log = { log: channel.concat<string>(), count: channel({ default: () => 0 }) }

/** A node that writes its name down. */
const note = (text: string) => () => ({ log: [text] })

describe('the chain', () => {
  it('goes on with what is written next', async () => {
    const { host } = await openStage()
    const chain = stateGraph('chain', log).start().then('a', note('a')).then('b', note('b')).end().compile()
    const run = await host.start(chain, {})
    expect((await run.result()).log).toEqual(['a', 'b'])
    expect(await paths(host, run.id)).toEqual(['a', 'b'])
    await expectSame(host, run.id)
  })

  it('takes one way of an if, nested and without an else too', async () => {
    const { host } = await openStage()
    const chain = stateGraph('chain', log)
      .start()
      .if(({ count }) => count > 0)
      .then('big', note('big'))
      .if(({ count }) => count > 10)
      .then('huge', note('huge'))
      .endif()
      .else()
      .then('small', note('small'))
      .if(async ({ count }) => count < 0)
      .else()
      .then('zero', note('zero'))
      .endif()
      .endif()
      .then('after', note('after'))
      .end()
      .compile()
    const results: (readonly string[])[] = []
    for (const count of [1, 11, 0, -1]) {
      const run = await host.start(chain, { count })
      results.push((await run.result()).log)
      await expectSame(host, run.id)
    }
    expect(results).toEqual([
      ['big', 'after'],
      ['big', 'huge', 'after'],
      ['small', 'zero', 'after'],
      ['small', 'after'],
    ])
  })

  it('goes round a loop until its condition holds, which it may at once', async () => {
    const { host } = await openStage()
    const chain = stateGraph('chain', log)
      .start()
      .loop({ until: ({ count }, { iteration }) => count >= 3 || iteration === 5 }, (body) =>
        body.then('up', ({ count }) => ({ count: count + 1 })).then('note', ({ count }) => ({ log: [String(count)] })),
      )
      .then('after', note('after'))
      .end()
      .compile()
    const run = await host.start(chain, {})
    expect(await run.result()).toEqual({ count: 3, log: ['1', '2', '3', 'after'] })
    await expectSame(host, run.id)
    expect(await chain.invoke(host, { count: 7 })).toEqual({ count: 7, log: ['after'] })
    expect((await chain.invoke(host, { count: -9 })).count).toBe(-4)
  })

  it('counts each time it comes to a loop anew, and says when one is cut off', async () => {
    const { host } = await openStage()
    const build = (onMax: 'go on' | 'fail') =>
      stateGraph('chain', log)
        .start()
        .loop({ until: (_state, { iteration }) => iteration === 2 }, (outer) =>
          outer
            .then('outer', note('outer'))
            .loop({ until: () => false, max: 2, onMax, id: 'inner' }, (inner) => inner.then('in', note('inner'))),
        )
        .end()
        .compile()
    const run = await host.start(build('go on'), {})
    expect((await run.result()).log).toEqual(['outer', 'inner', 'inner', 'outer', 'inner', 'inner'])
    expect(await emitted(host, run.id)).toEqual([
      ['limit-reached', { node: 'inner', iterations: 2 }],
      ['limit-reached', { node: 'inner', iterations: 2 }],
    ])
    await expectSame(host, run.id)
    const failing = await host.start(build('fail'), {})
    expect(await rejection(failing.result())).toMatchObject({ cause: { code: 'limit-reached' } })
    await expectSame(host, failing.id)
  })

  it('runs branches side by side, without waiting for each other, and merges them in the order they are written', async () => {
    const { host } = await openStage()
    const slow = gate()
    const order: string[] = []
    const chain = stateGraph('chain', log)
      .start()
      .then('before', note('before'))
      .parallel({
        branches: {
          slow: (branch) =>
            branch.then('wait', async () => {
              await slow.promise
              order.push('slow')
              return { log: ['slow'] }
            }),
          fast: (branch) =>
            branch
              .then('one', ({ log: seen }) => {
                order.push('one')
                return { log: [`one after ${seen.length}`] }
              })
              .then('two', ({ log: seen }) => {
                order.push('two')
                slow.resolve()
                return { log: [`two after ${seen.length}`], count: 2 }
              }),
        },
      })
      .then('after', ({ log: seen }) => ({ log: [`after ${seen.length}`] }))
      .end()
      .compile()
    const run = await host.start(chain, {})
    expect(await run.result()).toEqual({ log: ['before', 'slow', 'one after 1', 'two after 2', 'after 4'], count: 2 })
    expect(order).toEqual(['one', 'two', 'slow'])
    expect(await paths(host, run.id)).toEqual([
      'before',
      'parallel/1/one',
      'parallel/1/two',
      'parallel/0/wait',
      'after',
    ])
    await expectSame(host, run.id)
  })

  it('takes the first branch to end, or the first to succeed, and stops the others', async () => {
    const { host } = await openStage()
    const build = (mode: 'first' | 'any') => {
      const stopped: string[] = []
      const chain = stateGraph(`chain-${mode}`, log)
        .start()
        .parallel({
          mode,
          branches: {
            never: (branch) =>
              branch.then('never', async (_state, { signal }) => {
                await new Promise((_, reject) => {
                  signal.addEventListener('abort', () => {
                    stopped.push('never')
                    reject(new Error('stopped'))
                  })
                })
              }),
            fails: (branch) =>
              branch.then('fails', () => {
                throw new Error('no')
              }),
            works: (branch) =>
              branch.then('works', async () => {
                await quiet(3)
                return { log: ['works'] }
              }),
          },
        })
        .then('after', note('after'))
        .end()
        .compile()
      return { chain, stopped }
    }
    const any = build('any')
    const run = await host.start(any.chain, {})
    expect((await run.result()).log).toEqual(['works', 'after'])
    expect(any.stopped).toEqual(['never'])
    await expectSame(host, run.id)
    const first = build('first')
    const failing = await host.start(first.chain, {})
    expect((await rejection(failing.result())).message).toMatch(/no/u)
    expect(first.stopped).toEqual(['never'])
  })

  it('makes one update of the states that the branches ended with, when told how', async () => {
    const { host } = await openStage()
    const chain = stateGraph('chain', log)
      .start()
      .parallel({
        branches: {
          two: (branch) => branch.then('two', () => ({ count: 2 })),
          five: (branch) => branch.then('five', () => ({ count: 5 })),
        },
        merge: ({ two, five }, before) => ({ count: before.count + two.count + five.count }),
      })
      .end()
      .compile()
    const run = await host.start(chain, { count: 100 })
    expect((await run.result()).count).toBe(107)
    await expectSame(host, run.id)
  })

  it('really waits, and goes on with the answer', async () => {
    const { host, clock } = await openStage()
    const chain = stateGraph('chain', log)
      .start()
      .then('write', note('spec'))
      .wait(({ log: seen }) => `Approve ${seen.join()}?`, {
        choices: ['yes', 'no'],
        into: (answer, { count }) => ({ log: [answer], count: count + 1 }),
      })
      .wait('Anything else?', { deadline: '1h', onDeadline: { default: 'nothing' }, into: (text) => ({ log: [text] }) })
      .then('after', note('after'))
      .end()
      .compile()
    const run = await host.start(chain, {})
    expect(await run.rest()).toBe('waiting')
    const [question] = await host.inbox()
    expect(question).toMatchObject({ prompt: 'Approve spec?', choices: ['yes', 'no'] })
    await run.answer(question?.id ?? '', 'yes')
    await until(async () => (await host.inbox())[0]?.prompt === 'Anything else?')
    clock.advance(3_600_000)
    expect(await run.result()).toEqual({ log: ['spec', 'yes', 'nothing', 'after'], count: 1 })
    expect(await emitted(host, run.id)).toEqual([
      ['human_input_required', { node: 'wait', prompt: 'Approve spec?' }],
      ['human_input_required', { node: 'wait-2', prompt: 'Anything else?' }],
    ])
    await expectSame(host, run.id)
  })

  it('waits in a branch while another works', async () => {
    const { host } = await openStage()
    const chain = stateGraph('chain', log)
      .start()
      .parallel({
        branches: {
          person: (branch) =>
            branch.wait('Well?', { into: (answer) => ({ log: [answer] }) }).then('told', note('told')),
          machine: (branch) => branch.then('works', note('works')).then('more', note('more')),
        },
      })
      .end()
      .compile()
    const run = await host.start(chain, {})
    expect(await run.rest()).toBe('waiting')
    expect(await paths(host, run.id)).toEqual(['parallel/1/works', 'parallel/1/more'])
    const [question] = await host.inbox()
    await run.answer(question?.id ?? '', 'fine')
    expect((await run.result()).log).toEqual(['fine', 'told', 'works', 'more'])
    await expectSame(host, run.id)
  })

  it('jumps by goto to another part of the chain', async () => {
    const { host } = await openStage()
    const chain = stateGraph('chain', log)
      .start()
      .then('draft', ({ count }) => ({ log: ['draft'], count: count + 1 }))
      .then('check', ({ count }) => (count < 3 ? goto('draft', { log: ['again'] }) : undefined))
      .then('publish', note('publish'))
      .end()
      .compile()
    expect((await chain.invoke(host, {})).log).toEqual(['draft', 'again', 'draft', 'again', 'draft', 'publish'])
  })

  it('names every problem at once', () => {
    const open = stateGraph('wrong', log)
      .start()
      .then('a', 7 as never)
      .then('a' as never, note('a'))
      .then('emit', note('emit'))
      .then(
        'sub',
        defineNode('sub', () => 1),
        {} as never,
      )
      .loop({ until: 1 as never, max: 0 }, (body) => body)
      .parallel({ branches: {} })
      .parallel({ branches: { '1': (branch) => branch.then('x', note('x')).then('x' as never, note('x')) } })
      .wait('')
      .if(() => true) as unknown as { end(): { compile(): unknown } }
    try {
      open.end().compile()
      expect.unreachable()
    } catch (error) {
      expect(isNerveError(error) && error.data['problems']).toEqual([
        "node 'a' is not a function of the state, a node, a definition, or the name of one.",
        "node 'a' needs an update: update: (output, state) => what goes into the state.",
        "two parts have the id 'a'.",
        "a node cannot have the id 'emit': it has a meaning of its own.",
        "node 'sub' needs an update: update: (output, state) => what goes into the state.",
        "loop 'loop': until is not a function.",
        "loop 'loop': max is 0; give a whole number from 1.",
        "loop 'loop' has nothing to do in it.",
        "parallel 'parallel' has no branches.",
        "in branch '1' of 'parallel-2': two parts have the id 'x'.",
        "branch '1' of 'parallel-2' is named by a number, which would change its place. Use a word.",
        "wait 'wait' has no prompt: give a text, or a function of the state.",
        "'if' has no endif.",
      ])
    }
  })
})

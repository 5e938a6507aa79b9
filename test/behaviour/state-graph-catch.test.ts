import { describe, expect, it } from 'vitest'
import { defineNode } from 'nerve'
import { channel, stateGraph } from 'nerve/state'
import { expectSame, paths } from './journal-views.ts'
import { openStage, quiet, rejection, until } from './stage.ts'

const log = { log: channel.concat<string>(), count: channel({ default: () => 0 }) }

/** A node that writes its name down. */
const note = (text: string) => () => ({ log: [text] })

describe('catch', () => {
  const boom = (text: string) => () => {
    throw new Error(text)
  }

  it('catches what fails before it, goes on behind it, and is passed by when nothing fails', async () => {
    const { host } = await openStage()
    const chain = stateGraph('chain', log)
      .start()
      .then('a', note('a'))
      .then('risky', ({ count }) => (count > 0 ? boom('too many')() : { log: ['fine'] }))
      .then('b', note('b'))
      .catch((error, { log: seen }) => ({ log: [`${error.message} after ${seen.length}`] }))
      .then('c', note('c'))
      .end()
      .compile()
    const run = await host.start(chain, { count: 1 })
    expect((await run.result()).log).toEqual(['a', 'too many after 1', 'c'])
    expect((await host.run(run.id)).status).toBe('completed-with-failures')
    await expectSame(host, run.id)
    expect((await chain.invoke(host, {})).log).toEqual(['a', 'fine', 'b', 'c'])
  })

  it('catches from loops, branches and conditions, and a later one catches from an earlier one', async () => {
    const { host } = await openStage()
    const chain = stateGraph('chain', log)
      .start()
      .loop({ until: (_state, { iteration }) => iteration === 2 }, (body) =>
        body
          .parallel({
            branches: {
              works: (branch) => branch.then('works', note('works')),
              breaks: (branch) => branch.then('breaks', boom('in a branch')),
            },
          })
          .catch((error) => ({ log: [`body: ${error.message}`] })),
      )
      .if(() => boom('in a condition')())
      .endif()
      .catch(boom('in a handler'))
      .catch(async (error) => ({ log: [`last: ${error.message}`] }))
      .end()
      .compile()
    const run = await host.start(chain, {})
    expect((await run.result()).log).toEqual(['body: in a branch', 'body: in a branch', 'last: in a handler'])
    await expectSame(host, run.id)
  })

  it('catches with a node, after the attempts of what failed are used up', async () => {
    const { host } = await openStage()
    const doctor = defineNode('doctor', (problem: string) => `helped with ${problem}`)
    let tries = 0
    const chain = stateGraph('chain', log)
      .start()
      .then(
        'ill',
        () => {
          tries += 1
          throw new Error('a fever')
        },
        { policy: { attempts: 3, backoff: 0 } },
      )
      .catch(doctor, { id: 'help', input: (error) => error.message, update: (text) => ({ log: [text] }) })
      .end()
      .compile()
    const run = await host.start(chain, {})
    expect((await run.result()).log).toEqual(['helped with a fever'])
    expect(tries).toBe(3)
    expect(await paths(host, run.id)).toEqual(['help'])
    await expectSame(host, run.id)
  })

  it('does not catch that the run was cancelled', async () => {
    const { host } = await openStage()
    let caught = false
    const chain = stateGraph('chain', log)
      .start()
      .then(
        'long',
        (_state, { signal }) => new Promise<undefined>((_, reject) => signal.addEventListener('abort', reject)),
      )
      .catch(() => {
        caught = true
      })
      .end()
      .compile()
    const run = await host.start(chain, {})
    await quiet()
    await run.cancel()
    expect(await rejection(run.result())).toMatchObject({ code: 'cancelled' })
    expect(caught).toBe(false)
  })

  it('says in the journal what failed outside of a step', async () => {
    const { host } = await openStage()
    const chain = stateGraph('chain', log)
      .start()
      .wait('Well?', { into: boom('odd answer') })
      .parallel({
        branches: { one: (branch) => branch.then('one', note('one')) },
        merge: boom('no merging'),
      })
      .catch((error) => ({ log: [error.message] }))
      .end()
      .compile()
    const run = await host.start(chain, {})
    await until(async () => (await host.inbox()).length === 1)
    const [question] = await host.inbox()
    await run.answer(question?.id ?? '', 'hm')
    expect((await run.result()).log).toEqual(['odd answer'])
    const failed = (await host.journal(run.id)).flatMap(({ event }) =>
      event.type === 'step-failed' ? [[event.path, event.error.message]] : [],
    )
    expect(failed).toEqual([['wait!', 'odd answer']])
    expect((await host.run(run.id)).status).toBe('completed-with-failures')
    await expectSame(host, run.id)
  })
})

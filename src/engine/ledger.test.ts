import { describe, expect, it } from 'vitest'
import type { Budget } from '../journal/events.ts'
import { emptyState, type RunState } from '../journal/run-state.ts'
import { Ledger } from './ledger.ts'

function run(name: string, budget?: Budget, spent: Partial<RunState['usage']> = {}): RunState {
  const state = emptyState(name)
  state.budget = budget
  Object.assign(state.usage, spent)
  return state
}

describe('a ledger', () => {
  it('without a limit allows everything', () => {
    const ledger = new Ledger(run('r'), undefined)
    expect(ledger.limited).toBe(false)
    expect(ledger.shortage({ usd: 1e9, steps: 1e9 })).toBeUndefined()
    expect([ledger.left(), ledger.millisecondsLeft()]).toEqual([{}, Infinity])
  })

  it('allows what fits exactly, and not more', () => {
    const ledger = new Ledger(run('r', { tokens: 100 }, { tokens: 60 }), undefined)
    expect(ledger.shortage({ tokens: 40 })).toBeUndefined()
    expect(ledger.shortage({ tokens: 41 })).toMatchObject({ dimension: 'tokens', used: 60, limit: 100, ledger })
  })

  it('is not passed by the drift of float sums', () => {
    const state = run('r', { usd: 0.3 })
    for (let i = 0; i < 2; i += 1) state.usage.usd += 0.1
    expect(new Ledger(state, undefined).shortage({ usd: 0.1 })).toBeUndefined()
  })

  it('that is spent allows nothing, also to those who say nothing of what they need', () => {
    const ledger = new Ledger(run('r', { usd: 1, steps: 5 }, { usd: 1, steps: 5 }), undefined)
    expect(ledger.shortage({})).toMatchObject({ dimension: 'usd' })
    expect(new Ledger(run('r', { steps: 5 }, { steps: 5 }), undefined).shortage({ steps: 1 })).toMatchObject({
      dimension: 'steps',
    })
    expect(new Ledger(run('r', { usd: 0 }), undefined).shortage({})).toMatchObject({ dimension: 'usd' })
  })

  it('counts what is set aside, here and above, until it is given back', () => {
    const parent = new Ledger(run('p', { tokens: 100 }), undefined)
    const child = new Ledger(run('c', { tokens: 80 }), parent)
    child.setAside({ tokens: 70 }, 1)
    expect(child.shortage({ tokens: 20 })).toMatchObject({ ledger: child })
    expect(parent.shortage({ tokens: 31 })).toMatchObject({ ledger: parent, used: 70 })
    expect(child.left()).toMatchObject({ tokens: 10 })
    child.setAside({ tokens: 70 }, -1)
    expect(parent.shortage({ tokens: 100 })).toBeUndefined()
  })

  it('counts what open children have spent, until they are closed', () => {
    const parent = new Ledger(run('p', { tokens: 100 }, { tokens: 10 }), undefined)
    const child = new Ledger(run('c', undefined, { tokens: 30 }), parent)
    const grandchild = new Ledger(run('g', undefined, { tokens: 5 }), child)
    expect(grandchild.limited).toBe(true)
    expect(parent.totals().tokens).toBe(45)
    expect(grandchild.shortage({ tokens: 56 })).toMatchObject({ ledger: parent, used: 45 })
    child.close()
    expect(parent.totals().tokens).toBe(10)
  })

  it('warns of four fifths, once for each dimension', () => {
    const state = run('r', { usd: 10, tokens: 100 }, { usd: 8, tokens: 79 })
    const ledger = new Ledger(state, undefined)
    expect([...ledger.warnings()].map((one) => one.dimension)).toEqual(['usd'])
    state.warned.add('usd')
    expect([...ledger.warnings()]).toEqual([])
  })

  it('knows the time that is left under the tightest limit', () => {
    const parent = new Ledger(run('p', { seconds: 10 }, { seconds: 4 }), undefined)
    const child = new Ledger(run('c', { seconds: 60 }), parent)
    expect(child.millisecondsLeft()).toBe(6_000)
  })
})

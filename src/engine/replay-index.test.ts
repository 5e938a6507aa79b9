import { expect, it } from 'vitest'
import { outcomesOf } from '../journal/outcomes.ts'
import { Replay } from './replay-index.ts'

const LOOK_MS = 20

function resting(): Replay {
  const event = { type: 'step-completed', path: 'a', attempt: 1, started: 0 } as const
  return new Replay(outcomesOf([{ run: 'r', seq: 1, time: 1, event }]))
}

it('a replay has rested for the time in which somebody looked', () => {
  const replay = resting()
  expect(replay.restedFor(1_000, LOOK_MS)).toBe(0)
  expect(replay.restedFor(1_020, LOOK_MS)).toBe(20)
  expect(replay.restedFor(1_045, LOOK_MS)).toBe(45)
})

it('a process that was held up says nothing of the code: a late look counts as a little late', () => {
  const replay = resting()
  replay.restedFor(1_000, LOOK_MS)
  expect(replay.restedFor(3_000, LOOK_MS)).toBe(40)
  expect(replay.restedFor(60_000, LOOK_MS)).toBe(80)
  expect(replay.restedFor(60_020, LOOK_MS)).toBe(100)
})

it('a replay that reaches something rests anew', () => {
  const replay = resting()
  expect(replay.hasMoved()).toBe(true)
  expect(replay.hasMoved()).toBe(false)
  replay.restedFor(1_000, LOOK_MS)
  replay.restedFor(1_020, LOOK_MS)
  replay.take('a', 'step', true)
  expect(replay.hasMoved()).toBe(true)
  expect(replay.restedFor(2_000, LOOK_MS)).toBe(0)
})

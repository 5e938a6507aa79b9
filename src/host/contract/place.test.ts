import { describe, expect, it } from 'vitest'
import type { RunEvent } from '../../engine/bus.ts'
import { LONGEST_CURSOR, Place, after, shortened } from './place.ts'

const event = (run: string, seq: number, time: number, type = 'step-completed'): RunEvent =>
  ({ type, run, seq, time, path: 'a', attempt: 1, started: time }) as RunEvent

describe('a place among all runs', () => {
  it('is the same after it was written and read', () => {
    const place = new Place(1_000)
    place.add(event('aaa', 3, 2_000))
    place.add(event('bbb', 7, 2_001))
    const again = Place.parse(place.toString(), 5_000)
    expect(again.floor).toBe(1_000)
    expect([again.reached('aaa'), again.reached('bbb'), again.reached('ccc')]).toEqual([3, 7, undefined])
    expect(again.toString()).toBe(place.toString())
  })

  it('stays short: what has not moved since the time is left out', () => {
    const place = new Place(0)
    for (let i = 0; i < 1_000; i += 1) place.add(event(`run${i}`, 5, i))
    place.raise(998)
    expect(place.toString()).toBe(`${(998).toString(36)}~run998:5~run999:5`)
    // It is still known here: it may move again.
    expect(place.reached('run1')).toBe(5)
  })

  it('forgets runs that are over, once the time is past them', () => {
    const place = new Place(0)
    place.add(event('aaa', 3, 10, 'run-completed'))
    expect(place.isOver('aaa')).toBe(true)
    expect(Place.parse(place.toString(), 5_000).isOver('aaa')).toBe(true)
    place.raise(11)
    expect(place.reached('aaa')).toBeUndefined()
  })

  it('keeps what came with its text until the time is past the moment in which it was read', () => {
    // Its last event may have happened at any time before that.
    const place = Place.parse(`${(100).toString(36)}~aaa:4~bbb:9.`, 250)
    place.raise(200)
    expect(place.toString()).toBe(`${(200).toString(36)}~aaa:4~bbb:9.`)
    place.raise(300)
    expect(place.toString()).toBe((300).toString(36))
  })

  it('never goes back', () => {
    const place = new Place(500)
    place.raise(400)
    expect(place.floor).toBe(500)
  })

  it('goes back with a clock that is set back', () => {
    const place = new Place(500)
    place.goBack(500, 10)
    expect(place.floor).toBe(500)
    place.goBack(400, 10)
    expect(place.floor).toBe(390)
  })

  it('names a run of which something from before its time came late', () => {
    const place = new Place(500)
    place.add(event('aaa', 3, 100))
    expect(place.toString()).toBe(`${(500).toString(36)}~aaa:3`)
  })

  it('is moved on as text, and is read as it was named last', () => {
    const moved = after(after('5~aaa:1~bbb:2', event('aaa', 2, 9)), event('ccc', 7, 9, 'run-failed'))
    expect(Place.parse(moved, 10).toString()).toBe('5~aaa:2~bbb:2~ccc:7.')
    const full = shortened(`5${'~aaa:1~bbb:1'.repeat(90_000)}`, LONGEST_CURSOR)
    expect(after(full, event('aaa', 2, 9))).toBe('5~aaa:2~bbb:1')
  })

  it('has a limit: what does not fit is not named', () => {
    expect(shortened('5~aaa:1~bbb:2', 20)).toBe('5~aaa:1~bbb:2')
    expect(shortened('5~aaa:1~bbb:2', 12)).toBe('5~aaa:1')
    expect(shortened('5~aaa:1~bbb:2', 7)).toBe('5~aaa:1')
    expect(shortened('5~aaa:1~bbb:2', 3)).toBe('5')
    const place = new Place(0)
    for (let i = 0; i < 100_000; i += 1) place.add(event(`a-run-of-many-${i}`, 5, i))
    expect(place.toString().length).toBeLessThanOrEqual(LONGEST_CURSOR)
    expect(Place.parse(place.toString(), 0).reached('a-run-of-many-0')).toBe(5)
  })

  it('is not made of anything else', () => {
    for (const text of ['', '!', 'a~b', 'a~b:', 'a~b:x', '1~ :2', 'zzzzzzzzzzz', '-1'])
      expect(() => Place.parse(text, 0), text).toThrow('is not a cursor')
  })
})

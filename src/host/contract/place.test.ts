import { describe, expect, it } from 'vitest'
import type { RunEvent } from '../../engine/bus.ts'
import { Place } from './place.ts'

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

  it('is not made of anything else', () => {
    for (const text of ['', '!', 'a~b', 'a~b:', 'a~b:x', '1~ :2', 'zzzzzzzzzzz', '-1'])
      expect(() => Place.parse(text, 0), text).toThrow('is not a cursor')
  })
})

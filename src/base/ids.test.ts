import { describe, expect, it } from 'vitest'
import { newId } from './ids.ts'

describe('ids', () => {
  it('sort by time, differ within one, and are safe in paths, urls and shells', () => {
    const times = [0, 1, 1_700_000_000_000, 1_700_000_000_001, 4_000_000_000_000]
    const ids = times.map(newId)
    expect(ids.toSorted()).toEqual(ids)
    for (const id of ids) expect(id).toMatch(/^[0-9a-hj-km-np-tv-z]{16}$/)
    expect(new Set(Array.from({ length: 1_000 }, () => newId(5))).size).toBe(1_000)
  })
})

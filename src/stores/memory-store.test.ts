import { describe, it } from 'vitest'
import { storeConformance } from '../testing/store-conformance.ts'
import { MemoryStore } from './memory-store.ts'

// Every case throws when the store does not conform.
/* oxlint-disable vitest/expect-expect */
describe('MemoryStore', () => {
  for (const { name, run } of storeConformance({ open: () => Promise.resolve(new MemoryStore()) })) it(name, run)
})

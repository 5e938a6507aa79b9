/** The store of a host: in its project folder, in memory, or one that it is given. */
import { join } from 'node:path'
import { NerveError, isNerveError } from '../base/nerve-error.ts'
import type { JournalStore } from '../journal/port.ts'
import { MemoryStore } from '../stores/memory-store.ts'

export function databaseFile(dir = process.cwd()): string {
  return join(dir, '.nerve', 'nerve.db')
}

export async function openStore(
  store: 'sqlite' | 'memory' | JournalStore,
  dir: string | undefined,
): Promise<JournalStore> {
  if (typeof store === 'object') return store
  if (store === 'memory') return new MemoryStore()
  if (store !== 'sqlite')
    throw new NerveError('bad-option', `store is ${JSON.stringify(store)}; give 'sqlite', 'memory' or a store.`)
  const { openSqliteStore } = await import('../stores/sqlite-store.ts')
  const file = databaseFile(dir)
  try {
    return await openSqliteStore({ file })
  } catch (error) {
    if (!isNerveError(error, 'not-trusted') || !(await isTrustedPlace(dir))) throw error
    return openSqliteStore({ file, foreign: true })
  }
}

/** A person may say of a folder that others can write to that it may be used. */
async function isTrustedPlace(dir = '.'): Promise<boolean> {
  const { isTrusted } = await import('./config/trust.ts')
  return isTrusted(dir)
}

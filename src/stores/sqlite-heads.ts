import { isEnded } from '../journal/events.ts'
import type { HeadFilter } from '../journal/port.ts'
import { SEQ_SPACE } from './sqlite-schema.ts'

const LAST_TIME = `(SELECT time FROM events WHERE events.id >= no * ${SEQ_SPACE} AND events.id < (no + 1) * ${SEQ_SPACE}
  ORDER BY events.id DESC LIMIT 1)`

/** A filter as a query: newest first, and due runs by their time. */
export function headQuery(filter: HeadFilter): { readonly text: string; readonly values: (string | number)[] } {
  const where: string[] = []
  const values: (string | number)[] = []
  const add = (text: string, ...more: (string | number)[]): void => {
    where.push(text)
    values.push(...more)
  }
  if (filter.root !== undefined) add('(id = ? OR (root = ? AND root <> id))', filter.root, filter.root)
  if (filter.status !== undefined) {
    add(`status IN (${filter.status.map(() => '?').join(', ')})`, ...filter.status)
    if (!filter.status.some(isEnded)) add('open = 1')
  }
  if (filter.definition !== undefined) add('definition = ?', filter.definition)
  if (filter.asking === true) add('open = 1 AND asking > 0')
  if (filter.dueBy !== undefined) {
    add('wake IS NOT NULL AND wake <= ?', filter.dueBy)
    add(`NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = runs.root AND r.status IN ('paused', 'exhausted'))`)
  }
  if (filter.updatedBefore !== undefined) add('updated < ?', filter.updatedBefore)
  // One look into the b-tree of events for each run: journals are not read.
  if (filter.movedSince !== undefined) add(`${LAST_TIME} >= ?`, filter.movedSince)
  if (filter.roots === true) add('root = id')
  if (filter.owned === true) add('owner IS NOT NULL')
  const order = filter.dueBy === undefined ? 'no DESC' : 'wake'
  const clause = where.length === 0 ? '' : ` WHERE ${where.join(' AND ')}`
  if (filter.limit !== undefined) values.push(filter.limit)
  const limit = filter.limit === undefined ? '' : ' LIMIT ?'
  return { text: `SELECT owner, epoch, head FROM runs${clause} ORDER BY ${order}${limit}`, values }
}

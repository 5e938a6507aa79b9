/**
 * Events to rows and back. Owns the stored format. Knows nothing of how rows are kept.
 *
 * Invariants: decode(encode(event)) equals event. An event has at most one value that can be large; over INLINE_LIMIT
 * it leaves the row and is addressed by its content, so equal values are stored once.
 */
import { NerveError } from '../base/nerve-error.ts'
import { contentHash, decodeValue, encodeValue, isPlainValue, smallCopy } from '../base/value.ts'
import type { EventType, JournalEvent, StepCompleted } from './events.ts'

export const INLINE_LIMIT = 4_096

export interface Row {
  readonly seq: number
  readonly time: number
  readonly data: string
  /** The content address of the value that left the row, and, while writing, its text. */
  readonly blob?: string
  readonly blobText?: string
}

/** The field that holds an event's value, for the types that have one. */
const VALUE_FIELD: Partial<Record<EventType, string>> = {
  'run-created': 'input',
  'step-started': 'input',
  'step-completed': 'output',
  'step-skipped': 'value',
  'step-kept': 'value',
  'value-recorded': 'value',
  'question-asked': 'detail',
  'question-answered': 'value',
  'signal-received': 'value',
  'signal-taken': 'value',
  'messages-taken': 'value',
  'child-ended': 'output',
  emitted: 'data',
  'checkpoint-recorded': 'data',
  'run-completed': 'output',
}

/** The row of an event that is appended now. */
export function rowOf(event: JournalEvent, seq: number, time: number): Row {
  if (event.type === 'step-completed' && isBrief(event, time)) {
    const output = smallCopy(event.output)
    if (output !== undefined || event.output === undefined) return new BriefRow(event, seq, time, output)
  }
  return encodeEvent(event, seq, time)
}

/** True when an event says no more than which step ended, at once, with what. Almost every one in a fast loop. */
function isBrief(event: StepCompleted, time: number): boolean {
  const { attempt, started, usage, active, fingerprint, kind } = event
  if (attempt !== 1 || started !== time || kind !== undefined) return false
  return usage === undefined && active === undefined && fingerprint === undefined
}

/** A row whose text is made when it is read. Journals in memory are seldom read, and the text costs more than the rest. */
class BriefRow implements Row {
  readonly seq: number
  readonly time: number
  readonly #path: string
  readonly #after: string | undefined
  readonly #output: unknown

  /** `output` is a copy: what the event has belongs to the author's code. */
  constructor({ path, after }: StepCompleted, seq: number, time: number, output: unknown) {
    this.seq = seq
    this.time = time
    this.#path = path
    this.#after = after
    this.#output = output
  }

  get data(): string {
    return JSON.stringify({
      type: 'step-completed',
      path: this.#path,
      attempt: 1,
      started: this.time,
      after: this.#after,
      output: this.#output,
    })
  }
}

export function encodeEvent(event: JournalEvent, seq: number, time: number): Row {
  const field = VALUE_FIELD[event.type]
  if (field === undefined) return { seq, time, data: JSON.stringify(event) }
  const fields = event as unknown as Record<string, unknown>
  const value = fields[field]
  if (value === undefined) return { seq, time, data: JSON.stringify(event) }
  const rest = (): string => JSON.stringify({ ...fields, [field]: undefined }).slice(0, -1)
  if (isPlainValue(value)) {
    // The usual case: small and plain, so the event is its own row.
    const data = JSON.stringify(event)
    if (data.length <= INLINE_LIMIT) return { seq, time, data }
    // A large value comes last in its event: its text is there already, and is not made a second time.
    const prefix = `${rest()},"${field}":`
    if (data.startsWith(prefix)) {
      const blobText = data.slice(prefix.length, -1)
      if (blobText.length > INLINE_LIMIT)
        return { seq, time, data: `${prefix.slice(0, -field.length - 4)}}`, blob: contentHash(blobText), blobText }
    }
  }
  return encodeApart(event, { seq, time, field, rest: rest() })
}

interface Apart {
  readonly seq: number
  readonly time: number
  readonly field: string
  /** The event without its value, open at the end. */
  readonly rest: string
}

/** An event whose value is written by itself: it is large, or has what JSON cannot say. */
function encodeApart(event: JournalEvent, { seq, time, field, rest }: Apart): Row {
  const { text, tagged } = encodeValue((event as unknown as Record<string, unknown>)[field], nameOf(event, field))
  const mark = tagged ? ',"tagged":true' : ''
  if (text === undefined || text.length <= INLINE_LIMIT)
    return { seq, time, data: `${rest}${mark},"${field}":${text}}` }
  const blob = contentHash(text)
  return { seq, time, data: `${rest}${mark}}`, blob, blobText: text }
}

export function decodeEvent(row: Row): JournalEvent {
  let fields: Record<string, unknown>
  try {
    fields = JSON.parse(row.data) as Record<string, unknown>
  } catch (cause) {
    throw new NerveError('store-corrupt', `event ${row.seq} is not readable: its JSON is broken`, { cause })
  }
  if (typeof fields !== 'object' || fields === null || typeof fields['type'] !== 'string')
    throw new NerveError('store-corrupt', `event ${row.seq} is not an event`)
  const field = VALUE_FIELD[fields['type'] as EventType]
  if (row.blob !== undefined && field !== undefined) {
    if (row.blobText === undefined)
      throw new NerveError('store-corrupt', `event ${row.seq} refers to the value ${row.blob}, which is missing`)
    fields[field] = decodeValue(row.blobText, fields['tagged'] === true)
  } else if (fields['tagged'] === true && field !== undefined) {
    fields[field] = decodeValue(JSON.stringify(fields[field]), true)
  }
  if ('tagged' in fields) delete fields['tagged']
  return fields as unknown as JournalEvent
}

function nameOf(event: JournalEvent, field: string): string {
  return `the ${field} of ${'path' in event && event.path !== undefined ? `'${event.path}'` : `the ${event.type} event`}`
}

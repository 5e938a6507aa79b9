/**
 * Checkpoints as Markdown for people: front matter, the state in words, and at the end everything as JSON. Only the JSON
 * is read back, and it may be edited by hand.
 */
import type { Checkpoint, Saver } from '../../define/state/checkpoint.ts'
import { checkpointFiles } from './checkpoint-files.ts'
import { fromJson, toJson } from './checkpoint-json.ts'

/**
 * Keeps checkpoints as Markdown, in a folder for each run.
 *
 * ```ts
 * import { researchSaver } from 'nerve/state'
 *
 * const saver = researchSaver('research/checkpoints')
 * ```
 */
export function researchSaver(folder = 'research/checkpoints'): Saver {
  return checkpointFiles(folder, { extension: '.md', write: toMarkdown, read: fromMarkdown })
}

const MARK = '<!-- nerve:checkpoint: a run is resumed from the JSON below, which may be edited. -->'

function toMarkdown(checkpoint: Checkpoint): string {
  const { id, run, definition, step, nodes, state, next, time } = checkpoint
  const head = { run, definition, checkpoint: id, step, nodes, next, time: new Date(time).toISOString() }
  return [
    '---',
    // JSON is YAML, and needs no rules of its own for odd names.
    ...Object.entries(head).map(([key, value]) => `${key}: ${JSON.stringify(value)}`),
    '---',
    '',
    `# ${oneLine(definition)}, step ${step}`,
    '',
    `Ran: ${listed(nodes)}. Next: ${next.length === 0 ? 'nothing, it has ended' : listed(next)}.`,
    '',
    ...Object.entries(state).flatMap(([key, value]) => [`## ${oneLine(key)}`, '', ...shown(value), '']),
    '## Data',
    '',
    MARK,
    '',
    '```json',
    toJson(checkpoint),
    '```',
    '',
  ].join('\n')
}

function fromMarkdown(text: string): unknown {
  // What people wrote may hold anything, also a mark: the last one is the real one.
  const at = text.lastIndexOf(MARK)
  const block = at === -1 ? null : /\n```json\r?\n([\s\S]*?)\n```/u.exec(text.slice(at))
  if (block === null) throw new Error(`it has no JSON block after the line ${MARK}`)
  return fromJson(block[1] ?? '')
}

const MOST_ITEMS = 50
const MOST_LINES = 200

/** A value as Markdown that cannot be taken for something else. */
function shown(value: unknown): readonly string[] {
  if (value === undefined || value === null || value === '') return ['(nothing)']
  if (typeof value === 'string') return cut(value.split('\n'), MOST_LINES).map((line) => `> ${line}`.trimEnd())
  if (Array.isArray(value)) {
    if (value.length === 0) return ['(none)']
    return cut(value.slice(0, MOST_ITEMS + 1).map(inline), MOST_ITEMS).map((item) => `- ${item}`)
  }
  if (typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype) {
    const fields = Object.entries(value).map(([key, item]) => `${oneLine(key)}: ${inline(item)}`)
    return fields.length === 0 ? ['(nothing)'] : cut(fields, MOST_ITEMS).map((field) => `- ${field}`)
  }
  return [inline(value)]
}

function cut(lines: readonly string[], most: number): readonly string[] {
  return lines.length <= most ? lines : [...lines.slice(0, most), '… (all of it is in the data below)']
}

const WIDEST = 300

function inline(value: unknown): string {
  const text = typeof value === 'string' ? value : toText(value)
  const line = oneLine(text)
  return line.length <= WIDEST ? line : `${line.slice(0, WIDEST)}…`
}

function toText(value: unknown): string {
  if (value instanceof Date || value instanceof Error || typeof value !== 'object' || value === null)
    return String(value)
  try {
    return JSON.stringify(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}

/** Without line breaks: one thing stays one thing. */
function oneLine(text: string): string {
  return text.replaceAll(/\s*[\n\r]\s*/gu, ' ')
}

function listed(ids: readonly string[]): string {
  return ids.length === 0 ? 'nothing' : ids.map((id) => `\`${id}\``).join(', ')
}

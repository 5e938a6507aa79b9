/** Definitions as text and as Mermaid, from their outlines. Pure. */
import type { AnyRunnable, Outline, OutlineEdge } from '../engine/definition.ts'
import { isNode } from '../engine/run-node.ts'

/** What a node, a definition or a name looks like as a part of something. */
export function outlineOf(node: AnyRunnable | string): Outline {
  if (typeof node === 'string') return { id: node, kind: 'by name', note: node }
  if (isNode(node)) return { id: node.id, kind: node.kind, ...(node.persistent ? { note: 'persistent' } : {}) }
  return node.outline?.() ?? { id: node.name, kind: node.kind, note: 'its steps are known when it runs' }
}

export function outlineText(outline: Outline): string {
  return lines(outline, 0).join('\n')
}

function lines(outline: Outline, depth: number): string[] {
  const { id, kind, note, after, parts = [], edges = [] } = outline
  const more = [kind, ...(note === undefined ? [] : [note])].join(', ')
  const order = after === undefined || after.length === 0 ? '' : ` after ${after.join(', ')}`
  const indent = '  '.repeat(depth)
  return [
    `${indent}${id} (${more})${order}`,
    ...parts.flatMap((part) => lines(part, depth + 1)),
    ...edges.map(({ from, to, label }) => `${indent}  ${from} → ${to}${label === undefined ? '' : ` when ${label}`}`),
  ]
}

/** A Mermaid flowchart. Parts of parts are drawn inside them. */
export function mermaid(outline: Outline): string {
  const names = new Map<string, string>()
  return ['flowchart TD', ...drawParts(outline, '', names, 1)].join('\n')
}

function drawParts(outline: Outline, path: string, names: Map<string, string>, depth: number): string[] {
  const indent = '  '.repeat(depth)
  const drawn: string[] = []
  const at = (id: string): string => keyOf(`${path}/${id}`, names)
  for (const part of outline.parts ?? []) {
    const key = at(part.id)
    const inner = part.parts ?? []
    if (inner.length > 0) {
      drawn.push(`${indent}subgraph ${key} [${quoted(label(part))}]`)
      drawn.push(...drawParts(part, `${path}/${part.id}`, names, depth + 1))
      drawn.push(`${indent}end`)
    } else drawn.push(`${indent}${key}${shape(part)}`)
  }
  for (const part of outline.parts ?? [])
    for (const before of part.after ?? []) drawn.push(`${indent}${at(before)} --> ${at(part.id)}`)
  for (const edge of outline.edges ?? []) drawn.push(indent + arrow(edge, at))
  return drawn
}

function arrow({ from, to, label: text }: OutlineEdge, at: (id: string) => string): string {
  return text === undefined ? `${at(from)} --> ${at(to)}` : `${at(from)} -- ${quoted(text)} --> ${at(to)}`
}

const SHAPES: Readonly<Record<string, readonly [string, string]>> = {
  question: ['{{', '}}'],
  gate: ['{{', '}}'],
  choice: ['{', '}'],
  start: ['([', '])'],
  end: ['([', '])'],
}

function shape(part: Outline): string {
  const [open, close] = SHAPES[part.kind] ?? ['[', ']']
  return `${open}${quoted(label(part))}${close}`
}

function label({ id, kind, note }: Outline): string {
  const more = note === undefined ? kind : `${kind}, ${note}`
  return kind === 'start' || kind === 'end' ? id : `${id}\n${more}`
}

/** Mermaid reads names of its own in ids, so every part gets a number. */
function keyOf(path: string, names: Map<string, string>): string {
  const known = names.get(path)
  if (known !== undefined) return known
  const key = `n${names.size + 1}`
  names.set(path, key)
  return key
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '#quot;').replaceAll('\n', '<br/>')}"`
}

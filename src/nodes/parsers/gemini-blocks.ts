/** A screen of Gemini CLI as blocks: replies, thoughts, boxes, and the frames around what a person types. */
import { indentOf, isDrawing, outdented, unboxed } from './screen-lines.ts'

type BlockKind = 'prompt' | 'reply' | 'thinking' | 'error' | 'tool' | 'box' | 'cut' | 'other'

export interface GeminiBlock {
  readonly kind: BlockKind
  /** Without the mark, the border or the indentation. */
  readonly lines: string[]
  /** The first row of it on the screen. */
  readonly row: number
}

const BOX_TOP = /^ ?╭─/
const BOX_END = /^ ?╰─/
/** Which side of the frame has which half depends on the colours of the terminal. */
const FRAME = /^ ?(?:▀{10}|▄{10})/
const PROMPT = /^ ?[>!](?:\s|$)/
const INPUT = /^ ?(?:[>!*]|\(r:\))(?:\s|$)/
const THOUGHT = /^ {0,2}│/
/** A tool in one line: the mark of its state, two spaces, its name. */
const TOOL = /^ {1,3}[✓✔✕✗xo?⊶⊷-] {2}\S/

/** The input is at the end of the screen: what is drawn further up is not it. */
const MOST_INPUT_ROWS = 40
const MOST_STATUS_ROWS = 4

/** The row where the input begins, with the lines about the state right above it. Undefined when there is none. */
export function inputTop(lines: readonly string[]): number | undefined {
  const least = Math.max(0, lines.length - MOST_INPUT_ROWS)
  const top = lines.findLastIndex((line, row) => row >= least && startsInput(line, lines[row + 1] ?? ''))
  const rest = lines.slice(top + 1)
  const ends = rest.findIndex((line) => FRAME.test(line) || BOX_END.test(line))
  if (top === -1 || ends === -1 || rest.slice(ends + 1).some(isTranscript)) return undefined
  // A prompt in the transcript looks the same, but has no footer.
  if (rest.length === ends + 1 && !rest.some((line) => line.includes('Type your message'))) return undefined
  const rule = lines.findLastIndex((line, row) => row < top && row >= top - MOST_STATUS_ROWS && /^─{20}/.test(line))
  return rule === -1 ? top : Math.max(0, rule - 1)
}

function startsInput(line: string, next: string): boolean {
  return (FRAME.test(line) && INPUT.test(next)) || (BOX_TOP.test(line) && INPUT.test(unboxed(next) ?? ''))
}

/** Under the input there is only a footer; a dialog takes its place. */
function isTranscript(line: string): boolean {
  const kind = markOf(line)
  return BOX_TOP.test(line) || (kind !== undefined && kind !== 'prompt' && kind !== 'other')
}

type Around = 'box' | 'frame' | undefined

export function geminiBlocks(lines: readonly string[]): GeminiBlock[] {
  const blocks: GeminiBlock[] = []
  let around: Around
  lines.forEach((line, row) => {
    const open = (kind: BlockKind, text: readonly string[]): void => void blocks.push({ kind, lines: [...text], row })
    const block = blocks.at(-1)
    const inner = unboxed(line)
    const framed = FRAME.test(line) && around !== 'frame' && INPUT.test(lines[row + 1] ?? '')
    if (BOX_TOP.test(line)) open('box', [])
    else if (framed) open('prompt', [])
    else if (BOX_END.test(line) || FRAME.test(line)) around = undefined
    else if (inner !== undefined && around === 'box') block?.lines.push(inner)
    else if (inner !== undefined) open('box', [inner])
    else if (around === 'frame') block?.lines.push(line.trim())
    else place(line, block, open)
    around = framed ? 'frame' : aroundAfter(line, inner !== undefined, around)
  })
  return blocks.map(withPrompts)
}

/** A line may also be cut off its frame, so a frame ends where something else begins. */
function aroundAfter(line: string, boxed: boolean, around: Around): Around {
  if (BOX_TOP.test(line) || boxed) return 'box'
  const mark = markOf(line)
  return around === 'frame' && !FRAME.test(line) && (mark === undefined || mark === 'prompt') ? 'frame' : undefined
}

function place(
  line: string,
  block: GeminiBlock | undefined,
  open: (kind: BlockKind, text: readonly string[]) => void,
): void {
  const kind = markOf(line)
  if (kind === 'thinking' && block?.kind === 'thinking') block.lines.push(thought(line))
  else if (kind !== undefined) open(kind, [kind === 'thinking' ? thought(line) : unmarked(line, kind)])
  else if (line === '' || (indentOf(line) >= 2 && block !== undefined && block.kind !== 'box'))
    block?.lines.push(outdented(line, 3))
  else open(block === undefined && indentOf(line) >= 2 && !isDrawing(line) ? 'cut' : 'other', [line.trim()])
}

function markOf(line: string): BlockKind | undefined {
  if (THOUGHT.test(line) || /^ {0,2}Thinking\.\.\.$/.test(line)) return 'thinking'
  if (TOOL.test(line)) return 'tool'
  if (PROMPT.test(line)) return 'prompt'
  const first = line.charAt(line.startsWith(' ') ? 1 : 0)
  if (first === '✦') return 'reply'
  if (first === '✕' || first === '✖' || first === '✗') return 'error'
  return first === 'ℹ' || first === '⚠' ? 'other' : undefined
}

function unmarked(line: string, kind: BlockKind): string {
  const text = line.trim()
  return kind === 'tool' ? text : text.slice(1).trim()
}

function thought(line: string): string {
  const text = line.trim()
  return text.startsWith('│') ? text.slice(1).trim() : ''
}

/** Older versions draw a box around the input. */
function withPrompts(block: GeminiBlock): GeminiBlock {
  return block.kind === 'box' && INPUT.test(block.lines[0] ?? '') ? { ...block, kind: 'prompt' } : block
}

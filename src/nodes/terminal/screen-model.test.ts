/** A screen that is drawn late, and without what nobody can see any more, is the same screen. */
import headless from '@xterm/headless'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ScreenModel } from './screen-model.ts'

const SIZE = { columns: 12, rows: 4, scrollback: 6 }

/** The model that draws everything at once. */
function plainModel() {
  const { columns: cols, rows, scrollback } = SIZE
  const model = new headless.Terminal({ cols, rows, scrollback, allowProposedApi: true })
  onTestFinished(() => model.dispose())
  const write = (bytes: Uint8Array): Promise<void> => new Promise((resolve) => model.write(bytes, resolve))
  const look = (): { rows: string[]; cursor: number[] } => {
    const { active } = model.buffer
    const row = (at: number): string => active.getLine(active.baseY + at)?.translateToString(true) ?? ''
    return { rows: Array.from({ length: model.rows }, (_, at) => row(at)), cursor: [active.cursorY, active.cursorX] }
  }
  return { model, write, look }
}

function lateModel(): ScreenModel {
  const screen = new ScreenModel(headless, { ...SIZE, mostHeld: 60 })
  onTestFinished(() => screen.dispose())
  return screen
}

const line = fc.constantFrom(
  'one\r\n',
  'two two\r\n',
  '你好🚀\r\n',
  'more than a row has\r\n',
  'é·°\r\n',
  'tab\tx\r\n',
  '\r\n',
)
const colour = fc.constantFrom('\u001b[31m', '\u001b[1;44m', '\u001b[m', '\u001b[0m', '\u001b[K', '\u001b[2K')
const other = fc.constantFrom(
  'bare\n',
  'over\rwritten',
  'x\b',
  '\u001b[2;3r',
  '\u001b[r',
  '\u001b[?1049h',
  '\u001b[?1049l',
  '\u001b[2A',
  '\u001b[3;5H',
  '\u001b[2J',
  '\u001b[4h',
  '\u001b[4l',
  '\u001bM',
  '\u001bc',
  '\u001b7',
  '\u001b8',
  '\u001b]0;title\u0007',
  '\u001b]0;open ',
  '\u001b\\',
  '\u001bPq#1',
  '\u009b2r',
  '\u000e',
  '\u000f',
  '\u0007',
)
const printed = fc
  .array(fc.oneof({ weight: 12, arbitrary: line }, { weight: 3, arbitrary: colour }, { weight: 1, arbitrary: other }), {
    maxLength: 150,
  })
  .map((parts) => Buffer.from(parts.join('')))

describe('the screen', () => {
  it('is the same as one that draws everything', async () => {
    await fc.assert(
      fc.asyncProperty(printed, fc.integer({ min: 1, max: 40 }), async (bytes, piece) => {
        const plain = plainModel()
        const late = lateModel()
        for (let at = 0; at < bytes.length; at += piece) late.write(bytes.subarray(at, at + piece), () => undefined)
        await plain.write(bytes)
        const same = async (): Promise<void> => {
          const { rows, cursor } = await late.look()
          const { rows: wanted, cursor: place } = plain.look()
          expect({ rows, cursor: [cursor.row, cursor.column] }).toEqual({ rows: wanted, cursor: place })
        }
        await same()
        late.write(bytes, () => undefined)
        await plain.write(bytes)
        // What comes back from the scrollback is the same too.
        late.resize(SIZE.columns, SIZE.rows + 8)
        plain.model.resize(SIZE.columns, SIZE.rows + 8)
        await same()
      }),
      { numRuns: 150 },
    )
  })

  it('leaves out what nobody can see, and nothing else', async () => {
    const late = lateModel()
    const text = Buffer.from('a line\r\n'.repeat(50))
    late.write(text, () => undefined)
    expect(late.pending).toBeLessThan(text.length / 2)
    await late.look()
    late.write(Buffer.from(`\u001b[2;3r${'a line\r\n'.repeat(50)}`), () => undefined)
    expect(late.pending).toBe(text.length + 6)
    await late.look()
    // Margins are set: lines do not leave the screen.
    late.write(text, () => undefined)
    expect(late.pending).toBe(text.length)
  })

  it('is there after its end', async () => {
    const late = lateModel()
    late.write(Buffer.from('last words'), () => undefined)
    late.dispose()
    late.write(Buffer.from('nobody'), () => undefined)
    expect((await late.look()).rows[0]).toBe('last words')
  })
})

// What the workloads of shells print: lines as builds and tests print them, of several lengths, some with colour.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Setup } from '../harness/contract.ts'

export interface Printed {
  readonly file: string
  /** What a terminal makes of it: each line end is two characters there. */
  readonly characters: number
  readonly lines: number
}

export function makeLines({ n, dir }: Setup): Printed {
  mkdirSync(dir, { recursive: true })
  const file = join(dir, 'lines.txt')
  const parts: string[] = []
  let size = 0
  for (let i = 0; size < n * 1_000_000; i++) {
    const colour = i % 7 === 0 ? '\u001b[32mok\u001b[0m ' : ''
    const line = `line ${i} of a program that prints a lot of text here, ${colour}${'x'.repeat(i % 40)}\n`
    parts.push(line)
    size += line.length
  }
  writeFileSync(file, parts.join(''))
  return { file, characters: size + parts.length, lines: parts.length }
}

/** A line that ends no program by itself. */
export const FLOOD = 'yes a line of output that never ends'

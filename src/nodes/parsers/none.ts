/** No program that is known: the text as it is, and nothing about its state. */
import type { ParsedScreen, Parser } from './parser.ts'
import { screenLines, trimmedBlock } from './screen-lines.ts'

export const none: Parser = {
  name: 'none',
  parse(screen): ParsedScreen {
    const text = trimmedBlock(screenLines(screen)).join('\n')
    return { sections: text === '' ? [] : [{ type: 'text', text, turn: 0 }], state: 'unknown', raw: screen }
  },
}

/** `nerve extract`. */
import { nearest } from '../../../base/nearest.ts'
import {
  SECTION_TYPES,
  parserNamed,
  type ParsedScreen,
  type Section,
  type SectionType,
} from '../../../host/parser-api.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { readFileOrStdin } from '../values.ts'

const DEFAULT_PARSER = 'claude'

export async function run({ args, out }: Invocation): Promise<number> {
  const parser = parserNamed(args.text('parser') ?? DEFAULT_PARSER)
  const type = sectionType(args.text('section'))
  const { raw: _raw, ...parsed } = parser.parse(await screenFrom(args.words[0]))
  const sections = chosen(parsed.sections, type, args.flag('last'))
  out.data({ parser: parser.name, ...parsed, sections } satisfies Omit<ParsedScreen, 'raw'> & { parser: string })
  if (sections.length > 0) out.line(sections.map(textOf).join('\n\n'))
  return EXIT.done
}

function sectionType(text: string | undefined): SectionType | undefined {
  const type = SECTION_TYPES.find((one) => one === text)
  if (text === undefined || type !== undefined) return type
  const near = nearest(text, SECTION_TYPES)
  const hint = near === undefined ? '' : ` Did you mean '${near}'?`
  throw new UsageError(
    `nerve extract: there are no sections of the type '${text}'.${hint} Known: ${SECTION_TYPES.join(', ')}.`,
  )
}

async function screenFrom(file: string | undefined): Promise<string> {
  if (file === undefined && process.stdin.isTTY)
    throw new UsageError(
      'nerve extract: which screen? Give a FILE, or pipe one in: tmux capture-pane -p | nerve extract',
    )
  return readFileOrStdin(file ?? '-')
}

function chosen(sections: readonly Section[], type: SectionType | undefined, last: boolean): readonly Section[] {
  const found = sections.filter((section) => type === undefined || section.type === type)
  return last ? found.slice(-1) : found
}

function textOf(section: Section): string {
  switch (section.type) {
    case 'text':
    case 'thinking':
      return section.text
    case 'tool': {
      const call = section.arguments === '' ? section.tool : `${section.tool}(${section.arguments})`
      return section.result === undefined ? call : `${call}\n${section.result}`
    }
  }
}

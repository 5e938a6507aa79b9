/** What surfaces may use to read the screens of agents' terminal programs. Apart from api.ts, because one command needs it. */
export { SECTION_TYPES } from '../nodes/parsers/parser.ts'
export type { ParsedScreen, Section, SectionType } from '../nodes/parsers/parser.ts'
export { parserNamed } from '../nodes/parsers/registry.ts'

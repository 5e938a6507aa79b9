/** The door to parsers: what the screens of agents' terminal programs say. */
export { PARSER_NAMES, parsed, parserNamed, type ParserName, type ScreenOutput } from './nodes/parsers/registry.ts'
export type {
  ParsedScreen,
  Parser,
  ScreenChoice,
  ScreenQuestion,
  ScreenState,
  ScreenTokens,
  Section,
  SectionType,
  TextSection,
  ThinkingSection,
  ToolSection,
} from './nodes/parsers/parser.ts'

/** What surfaces may use to look into files of definitions. Apart from api.ts, because few commands need it. */
export { checkFile } from './check-file.ts'
export { isDefinition } from '../engine/run-node.ts'
export { definitionFiles, definitionsIn } from './definition-folder.ts'
export { mermaid, outlineOf, outlineText } from '../define/outline.ts'
export { problemText } from '../define/spec/spec-text.ts'

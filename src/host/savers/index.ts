/** Where state graphs keep their checkpoints. */
export { fileSaver } from './file-saver.ts'
export { memorySaver } from './memory-saver.ts'
export { researchSaver } from './research-saver.ts'

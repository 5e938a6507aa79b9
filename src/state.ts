/** The door to state graphs, and to where they keep their checkpoints. */
export * from './define/state/index.ts'
export { fileSaver, memorySaver, researchSaver } from './host/savers/index.ts'

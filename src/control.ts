/** The door to control nodes. */
export * from './define/control/index.ts'

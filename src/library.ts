/** The door to workflows that are ready to use: they take agents as their parts. */
export * from './define/library/index.ts'

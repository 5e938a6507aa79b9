/** The door to specs: graphs as data, and the expressions in them. */
export * from './define/spec/index.ts'

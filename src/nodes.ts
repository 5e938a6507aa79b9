/** The door to nodes that are ready to use: shell commands, requests, and the one that does nothing. */
export { bash, quote } from './nodes/bash.ts'
export type { BashOptions, BashResult } from './nodes/bash.ts'
export type { BwrapSandbox, Sandbox } from './nodes/sandbox.ts'
export { http } from './nodes/http.ts'
export type { HttpOptions, HttpResult } from './nodes/http.ts'
export type { ParseAs } from './nodes/http-response.ts'
export { identity } from './nodes/identity.ts'
export type { IdentityOptions } from './nodes/identity.ts'

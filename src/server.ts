/** The door for programs that offer a host to others: on a unix socket, and on a TCP port with HTTP, for those with a token. */
export { createService } from './host/contract/service.ts'
export type { Caller, Service, ServiceOptions } from './host/contract/service.ts'
export type { Delivered } from './host/contract/project-feed.ts'
export { startServer } from './surfaces/server/server.ts'
export type { Server, ServerOptions, TcpOptions } from './surfaces/server/server.ts'
export { openTokens } from './surfaces/server/tokens.ts'
export type { Token, Tokens } from './surfaces/server/tokens.ts'
export { openApi } from './surfaces/server/open-api.ts'

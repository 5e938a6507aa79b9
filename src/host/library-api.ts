/** What surfaces may use of the workflows that Nerve brings along. Apart from api.ts, because one command needs it. */
export type { RalphResult } from '../define/library/index.ts'
export { agentNames } from '../nodes/agents/adapters.ts'
export { builtInSource } from './definition-source.ts'
export { SCRIPTED, ralphCommand, type RalphCommandInput } from './library/ralph-command.ts'

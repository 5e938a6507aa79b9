/** What surfaces may use for coding agents. Apart from api.ts, because few commands need it. */
export { probeAgents } from '../nodes/agents/adapters.ts'

/** The door to agent graphs, and to the loop that an agent is. */
export * from './define/agents/index.ts'
export { agentLoop } from './define/agent-loop.ts'
export type { AgentLoopOptions, AgentLoopResult, AgentState, AgentTurn } from './define/agent-loop.ts'

/** The door to agents: coding agents as nodes, graphs of agents, and the loop that an agent is. */
export * from './define/agents/index.ts'
export { agentLoop } from './define/agent-loop.ts'
export type { AgentLoopOptions, AgentLoopResult, AgentState, AgentTurn } from './define/agent-loop.ts'
export { agent } from './nodes/agents/agent.ts'
export type { AgentInfo, AgentInput, AgentNode, AgentResult } from './nodes/agents/agent.ts'
export type { AgentGateway, AgentNodeOptions } from './nodes/agents/agent-options.ts'
export { CONTRACT as AGENT_CONTRACT } from './nodes/agents/adapter.ts'
export type {
  AgentAdapter,
  AgentCapabilities,
  AgentOpen,
  AgentPart,
  AgentProbe,
  AgentSession,
  AgentTurnEnd,
  AgentUsage,
  McpServerOptions,
  PermissionDecision,
  PermissionRequest,
  SessionRef,
  ToolKind,
} from './nodes/agents/adapter.ts'
export type { PermissionPolicy, PermissionRules } from './nodes/agents/permission.ts'
export { claudeAgent, type ClaudeOptions } from './nodes/agents/claude-agent.ts'
export { copilotAgent, type CopilotOptions } from './nodes/agents/copilot-agent.ts'
export { codexAgent, type CodexOptions } from './nodes/agents/codex-agent.ts'
export { scriptedAgent } from './nodes/agents/scripted-agent.ts'
export type { ScriptedAgentOptions, ScriptedStep, ScriptedTurn } from './nodes/agents/scripted-agent.ts'

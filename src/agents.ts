/** The door to agents: coding agents as nodes, graphs of agents, and the loop that an agent is. */
export * from './define/agents/index.ts'
export { agentLoop } from './define/agent-loop.ts'
export type { AgentLoopOptions, AgentLoopResult, AgentState, AgentTurn } from './define/agent-loop.ts'
export { agent } from './nodes/agents/agent.ts'
export type { AgentInfo, AgentInput, AgentNode, AgentResult } from './nodes/agents/agent.ts'
export type { AgentGateway, AgentNodeOptions } from './nodes/agents/agent-options.ts'
export { able, allBut, CONTRACT as AGENT_CONTRACT } from './nodes/agents/adapter.ts'
export type {
  AgentAdapter,
  AgentCapabilities,
  AgentOpen,
  AgentPart,
  AgentProbe,
  AgentQuestion,
  AgentSession,
  AgentTurnEnd,
  AgentUsage,
  McpServerOptions,
  PermissionDecision,
  PermissionRequest,
  QuestionReply,
  QuestionRequest,
  SessionRef,
  ToolKind,
} from './nodes/agents/adapter.ts'
export type { BwrapSandbox, Sandbox } from './nodes/sandbox.ts'
export type { PermissionPolicy, PermissionRules } from './nodes/agents/permission.ts'
export { claudeAgent, type ClaudeOptions } from './nodes/agents/claude-agent.ts'
export { copilotAgent, type CopilotOptions } from './nodes/agents/copilot-agent.ts'
export { acpAgent, type AcpOptions } from './nodes/agents/acp-agent.ts'
export { geminiAgent, type GeminiOptions } from './nodes/agents/gemini-agent.ts'
export { opencodeAgent, type OpencodeOptions } from './nodes/agents/opencode-agent.ts'
export { codexAgent, type CodexOptions } from './nodes/agents/codex-agent.ts'
export { scriptedAgent } from './nodes/agents/scripted-agent.ts'
export type { ScriptedAgentOptions, ScriptedStep, ScriptedTurn } from './nodes/agents/scripted-agent.ts'
export { loadAgents } from './host/bundles/load-agents.ts'
export type { Agents, LoadAgentsOptions } from './host/bundles/load-agents.ts'
export type { AgentBundle } from './host/bundles/bundle-layers.ts'

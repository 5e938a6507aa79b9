/** The public face of `nerve/mcp`: MCP servers as nodes. */
export { mcp } from './nodes/mcp/mcp.ts'
export type { McpCall, McpInfo, McpInput, McpNode, McpResource, McpResult, McpTool } from './nodes/mcp/mcp.ts'
export type { McpOptions } from './nodes/mcp/mcp-options.ts'

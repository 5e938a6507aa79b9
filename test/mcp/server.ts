/** An MCP server for the tests, on stdio: small tools, one of each kind of trouble, resources, and a form. */
import { writeFileSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { McpServer, acceptedContent, inputRequired } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import * as z from 'zod/v4'

export function testServer(): McpServer {
  const server = new McpServer({ name: 'test', version: '1' })
  server.registerTool(
    'add',
    {
      description: 'adds',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
      annotations: { readOnlyHint: true },
    },
    ({ a, b }) => ({ content: [{ type: 'text', text: `${a + b}` }], structuredContent: { sum: a + b } }),
  )
  server.registerTool('fail', { inputSchema: z.object({}) }, () => ({
    content: [{ type: 'text', text: 'the disk is full' }],
    isError: true,
  }))
  server.registerTool('env', { inputSchema: z.object({}) }, () => ({
    content: [{ type: 'text', text: Object.keys(process.env).toSorted().join(' ') }],
  }))
  server.registerTool('wait', { inputSchema: z.object({ steps: z.number() }) }, async ({ steps }, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken ?? 0
    for (let at = 1; at <= steps; at += 1)
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: at, total: steps } })
    await delay(600_000, undefined, { signal: mcpReq.signal }).catch(() => undefined)
    return { content: [{ type: 'text', text: 'waited' }] }
  })
  server.registerTool('die', { inputSchema: z.object({}) }, () => {
    console.error('out of memory')
    process.exit(3)
  })
  server.registerTool('leave', { inputSchema: z.object({ file: z.string() }) }, ({ file }) => {
    const child = spawn('sleep', ['86400'], { detached: true, stdio: 'ignore' })
    writeFileSync(file, `${process.pid} ${child.pid}`)
    return { content: [] }
  })
  ask(server, 'choose', z.object({ colour: z.enum(['red', 'blue']) }))
  ask(server, 'fill', z.object({ name: z.string(), age: z.number().int() }))
  server.registerResource('note', 'memo://note', { description: 'a note', mimeType: 'text/plain' }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'buy milk' }],
  }))
  return server
}

function ask<Shape extends z.ZodObject>(server: McpServer, name: string, requestedSchema: Shape): void {
  server.registerTool(name, { inputSchema: z.object({}) }, (_, { mcpReq }) => {
    const answer = mcpReq.inputResponses?.['form']
    if (answer === undefined)
      return inputRequired({
        inputRequests: { form: inputRequired.elicit({ message: `Please ${name}.`, requestedSchema }) },
      })
    const given = acceptedContent(mcpReq.inputResponses, 'form', requestedSchema)
    return { content: [{ type: 'text', text: given === undefined ? 'refused' : JSON.stringify(given) }] }
  })
}

if (process.argv[1] === import.meta.filename) serveStdio(testServer)

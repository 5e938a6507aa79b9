/** Registered definitions as tools of their own: what they take is the schema of the tool, and what they give its result. */
import type { CallToolResult, ServerContext, StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { NerveError } from '../../base/nerve-error.ts'
import type { CallName, Output } from '../../host/contract/contract.ts'
import { callRun } from './run-call.ts'
import type { Standing } from './run-wait.ts'
import { describeStanding, guarded, isAllowed, toolName, type ToolParts } from './tools.ts'
import { resultOf, tellingResult, textOf } from './tool-result.ts'

type Explained = Output<'definitions.explain'>
type JsonSchema = Readonly<Record<string, unknown>>

const MOST_NAME = 64

export async function addWorkflowTools(
  parts: ToolParts,
  { wanted, taken }: { readonly wanted: 'all' | readonly string[]; readonly taken: readonly CallName[] },
): Promise<void> {
  const { server } = parts
  if (!isAllowed('runs.start', parts)) return
  const used = new Set(taken.map(toolName))
  for (const explained of await explainedOnes(parts, wanted)) {
    const { name } = explained
    const { schema, inputOf } = inputFor(explained)
    const tool = freeName(name, used)
    used.add(tool)
    const description = explained.description ?? `Run the ${explained.kind} ${name}`
    const config = { description, inputSchema: unchecked(schema), annotations: { readOnlyHint: false } }
    server.registerTool(tool, config, (given, context) =>
      guarded(parts, context, () => runTool(parts, { name, input: inputOf(given), context })),
    )
  }
}

async function explainedOnes(
  { client, onProblem }: ToolParts,
  wanted: 'all' | readonly string[],
): Promise<readonly Explained[]> {
  const names = wanted === 'all' ? (await client.definitions()).map(({ name }) => name) : wanted
  const found: Explained[] = []
  for (const definition of new Set(names)) {
    try {
      found.push(await client.call('definitions.explain', { definition }))
    } catch (error) {
      // One that is not there, or cannot be loaded, is no reason to go without the others.
      onProblem(error)
    }
  }
  return found
}

function runTool(
  parts: ToolParts,
  { name, input, context }: { readonly name: string; readonly input: unknown; readonly context: ServerContext },
): ReturnType<typeof callRun> {
  const { client, server, wait } = parts
  return callRun({
    client,
    server,
    context,
    mayAnswer: isAllowed('questions.answer', parts),
    begin: async () => (await client.runs.start(name, input)).id,
    timeout: wait,
    result: (standing) => outcomeOf(standing, parts),
  })
}

/** Models get what the workflow gives and nothing around it; programs find the run beside it. */
function outcomeOf(standing: Standing, parts: ToolParts): CallToolResult {
  const { error, output, ended } = standing
  const described = describeStanding(standing, parts)
  if (!ended) return resultOf(described)
  if (error === undefined) return tellingResult(textOf(output), described, false)
  return tellingResult(`${error.message} (run ${standing.run})`, described, true)
}

/** Tools take objects. What takes anything else is wrapped in one. */
function inputFor({ inputSchema }: Explained): { schema: JsonSchema; inputOf: (given: unknown) => unknown } {
  const { $schema: _dialect, $defs, ...schema } = inputSchema ?? {}
  const shared = $defs === undefined ? {} : { $defs }
  if (schema['type'] === 'object') return { schema: { ...schema, ...shared }, inputOf: (given) => given }
  return {
    schema: {
      type: 'object',
      properties: { input: { description: 'what the workflow takes', ...schema } },
      ...(inputSchema === undefined ? {} : { required: ['input'] }),
      additionalProperties: false,
      ...shared,
    },
    inputOf: wrapped,
  }
}

/** What is beside it would be lost, and the run would start without it. */
function wrapped(given: unknown): unknown {
  const { input, ...others } = (given ?? {}) as Readonly<Record<string, unknown>>
  const names = Object.keys(others)
  if (names.length === 0) return input
  throw new NerveError(
    'bad-input',
    `${names.map((name) => JSON.stringify(name)).join(', ')} is not taken here: give all of it as input: {"input": …}.`,
    { data: { fields: names } },
  )
}

/** Shown as it is, and not checked here: the host has the schema itself, and its errors name every field. */
function unchecked(schema: JsonSchema): StandardSchemaWithJSON {
  const shown = (): Record<string, unknown> => ({ ...schema })
  return {
    '~standard': {
      version: 1,
      vendor: 'nerve',
      validate: (value) => ({ value }),
      jsonSchema: { input: shown, output: shown },
    },
  }
}

/** Models know tools by letters, digits, - and _ only. */
function freeName(definition: string, used: ReadonlySet<string>): string {
  const plain = definition.replaceAll(/[^\w-]/g, '_').slice(0, MOST_NAME)
  if (!used.has(plain)) return plain
  for (let number = 2; ; number += 1) {
    const numbered = `${plain.slice(0, MOST_NAME - 6)}_${number}`
    if (!used.has(numbered)) return numbered
  }
}

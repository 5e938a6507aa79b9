/**
 * Finds the tool that an agent has for what a script wants done. Agents call their shell `Bash`, `exec_command` or
 * `run_shell_command`, and name its fields as differently: one script drives them all.
 */
import type { ModelTool, ToolCallPart } from '../exchange.ts'
import type { ScriptCall } from './script.ts'

export type ResolvedCall = Omit<ToolCallPart, 'type' | 'id'>

type Role = 'sh' | 'write' | 'read' | 'edit' | 'ask'

const NAMES: Readonly<Record<Role, readonly string[]>> = {
  sh: [
    'Bash',
    'bash',
    'exec_command',
    'shell',
    'shell_command',
    'run_shell_command',
    'local_shell',
    'run_in_terminal',
    'execute_bash',
    'terminal',
    'sh',
  ],
  write: ['Write', 'write', 'write_file', 'create', 'create_file', 'write_text_file'],
  read: ['Read', 'read', 'read_file', 'view', 'read_text_file'],
  edit: ['Edit', 'edit', 'replace', 'str_replace', 'edit_file', 'str_replace_editor', 'str_replace_based_edit_tool'],
  ask: ['AskUserQuestion', 'ask_user', 'request_user_input', 'question'],
}
const PATCH = 'apply_patch'

const PATH_FIELDS = ['file_path', 'filePath', 'path', 'absolute_path', 'filename', 'file']
const TEXT_FIELDS = ['content', 'contents', 'file_text', 'text']
const OLD_FIELDS = ['old_string', 'oldString', 'old_str', 'oldText', 'old']
const NEW_FIELDS = ['new_string', 'newString', 'new_str', 'newText', 'new']

/** The call, in the words of one of the tools; undefined when none of them can do it. */
export function resolveCall(call: ScriptCall, tools: readonly ModelTool[]): ResolvedCall | undefined {
  if ('tool' in call) return named(call, tools)
  if ('sh' in call) return shell(call.sh, tools)
  if ('read' in call) return reading(call.read, tools) ?? shell(`cat ${quoted(call.read)}`, tools)
  if ('write' in call) return writing(call.write, tools) ?? shell(heredoc(call.write), tools)
  return 'edit' in call ? editing(call.edit, tools) : asking(call.ask, tools)
}

function named(
  { tool, input }: { tool: string; input?: unknown },
  tools: readonly ModelTool[],
): ResolvedCall | undefined {
  const found = tools.find(({ name }) => name === tool)
  return found && calling(found, input ?? {})
}

/** The call of a tool: what its format must know about it comes along. */
function calling({ name, namespace, freeform }: ModelTool, input: unknown): ResolvedCall {
  return {
    name,
    input,
    ...(namespace === undefined ? {} : { namespace }),
    ...(freeform === undefined ? {} : { freeform: true }),
  }
}

/** By its exact name first; then one that ends in it, as names of tools from servers do. */
function toolFor(role: Role, tools: readonly ModelTool[]): ModelTool | undefined {
  for (const name of NAMES[role]) {
    const found = tools.find((tool) => tool.name === name)
    if (found !== undefined) return found
  }
  return tools.find((tool) => NAMES[role].some((name) => tool.name.toLowerCase().endsWith(`_${name.toLowerCase()}`)))
}

function shell(command: string, tools: readonly ModelTool[]): ResolvedCall | undefined {
  const tool = toolFor('sh', tools)
  if (tool === undefined) return undefined
  const fields = fieldsOf(tool)
  const field = ['cmd', 'command', 'script'].find((name) => name in fields) ?? 'command'
  const value = fields[field]?.type === 'array' ? ['bash', '-lc', command] : command
  return filled(tool, { [field]: value })
}

function writing(
  { path, text }: { path: string; text: string },
  tools: readonly ModelTool[],
): ResolvedCall | undefined {
  const tool = toolFor('write', tools) ?? editorWith('create', tools)
  if (tool !== undefined)
    return filled(tool, {
      ...editorCommand(tool, 'create'),
      ...given(tool, PATH_FIELDS, path),
      ...given(tool, TEXT_FIELDS, text),
    })
  const lines = text.replace(/\n$/, '').split('\n')
  return patch([`*** Add File: ${path}`, ...lines.map((line) => `+${line}`)], tools)
}

function reading(path: string, tools: readonly ModelTool[]): ResolvedCall | undefined {
  const tool = toolFor('read', tools) ?? editorWith('view', tools)
  return tool && filled(tool, { ...editorCommand(tool, 'view'), ...given(tool, PATH_FIELDS, path) })
}

function editing(
  { path, old, new: text }: { path: string; old: string; new: string },
  tools: readonly ModelTool[],
): ResolvedCall | undefined {
  const tool = toolFor('edit', tools)
  if (tool !== undefined)
    return filled(tool, {
      ...editorCommand(tool, 'str_replace'),
      ...given(tool, PATH_FIELDS, path),
      ...given(tool, OLD_FIELDS, old),
      ...given(tool, NEW_FIELDS, text),
    })
  const minus = old.split('\n').map((line) => `-${line}`)
  return patch([`*** Update File: ${path}`, '@@', ...minus, ...text.split('\n').map((line) => `+${line}`)], tools)
}

/** One question: some tools take several, and want to know more about each. */
function asking(
  { question, options }: { question: string; options: readonly string[] },
  tools: readonly ModelTool[],
): ResolvedCall | undefined {
  const tool = toolFor('ask', tools)
  if (tool === undefined) return undefined
  const list = fieldsOf(tool)['questions']?.items
  if (list === undefined) return filled(tool, { question, choices: options })
  const labelled = options.map((label) => ({ label, description: label }))
  return filled(tool, { questions: [{ question, options: labelled, ...missing(list, ['question', 'options']) }] })
}

function patch(lines: readonly string[], tools: readonly ModelTool[]): ResolvedCall | undefined {
  const tool = tools.find(({ name }) => name === PATCH)
  if (tool === undefined) return undefined
  const text = ['*** Begin Patch', ...lines, '*** End Patch', ''].join('\n')
  const field = ['patch', 'input'].find((name) => name in fieldsOf(tool)) ?? 'input'
  return calling(tool, tool.freeform === undefined ? { [field]: text } : text)
}

/** One tool for everything about files, told by a field what to do. */
function editorWith(command: string, tools: readonly ModelTool[]): ModelTool | undefined {
  return tools.find((tool) => fieldsOf(tool)['command']?.enum?.includes(command) === true)
}

function editorCommand(tool: ModelTool, command: string): Readonly<Record<string, unknown>> {
  return fieldsOf(tool)['command']?.enum?.includes(command) === true ? { command } : {}
}

interface Field {
  readonly type?: unknown
  readonly enum?: readonly unknown[]
  readonly items?: unknown
}

function fieldsOf(tool: ModelTool): Readonly<Record<string, Field>> {
  return propertiesOf(tool.input)
}

function propertiesOf(schema: unknown): Readonly<Record<string, Field>> {
  return (schema as { properties?: Record<string, Field> } | null | undefined)?.properties ?? {}
}

function given(tool: ModelTool, names: readonly string[], value: string): Readonly<Record<string, unknown>> {
  const fields = fieldsOf(tool)
  return { [names.find((name) => name in fields) ?? names[0] ?? '']: value }
}

/** What the schema asks for beside it. */
function filled(tool: ModelTool, input: Readonly<Record<string, unknown>>): ResolvedCall {
  return calling(tool, { ...input, ...missing(tool.input, Object.keys(input)) })
}

function missing(schema: unknown, given: readonly string[]): Readonly<Record<string, unknown>> {
  const fields = propertiesOf(schema)
  const required = (schema as { required?: unknown } | null | undefined)?.required
  const names = (Array.isArray(required) ? (required as string[]) : []).filter((name) => !given.includes(name))
  return Object.fromEntries(names.map((name) => [name, placeholder(name, fields[name])]))
}

function placeholder(name: string, field: Field | undefined): unknown {
  if (field?.enum !== undefined) return field.enum[0]
  switch (field?.type) {
    case 'number':
    case 'integer':
      return 1_000
    case 'boolean':
      return false
    case 'array':
      return []
    case 'object':
      return {}
    default:
      return name === 'description' ? 'a step of the script' : 'scripted'
  }
}

function heredoc({ path, text }: { path: string; text: string }): string {
  return `cat > ${quoted(path)} <<'NERVE_END'\n${text.replace(/\n$/, '')}\nNERVE_END`
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`
}

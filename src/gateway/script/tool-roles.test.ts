import { describe, expect, it } from 'vitest'
import type { ModelTool } from '../exchange.ts'
import { resolveCall } from './tool-roles.ts'

const tool = (name: string, properties: object = {}, required: readonly string[] = []): ModelTool => ({
  name,
  input: { type: 'object', properties, required },
})
const text = { type: 'string' }

/** What agents really offer, as far as scripts care. */
const CLAUDE = [
  tool('Bash', { command: text, description: text }, ['command']),
  tool('Write', { file_path: text, content: text }, ['file_path', 'content']),
  tool('Read', { file_path: text }, ['file_path']),
  tool('Edit', { file_path: text, old_string: text, new_string: text }, ['file_path', 'old_string', 'new_string']),
]
const CODEX: readonly ModelTool[] = [
  tool('exec_command', { cmd: text, yield_time_ms: { type: 'number' } }, ['cmd', 'yield_time_ms']),
  { name: 'apply_patch', input: {}, freeform: {} },
]
const GEMINI = [
  tool('run_shell_command', { command: text, is_background: { type: 'boolean' } }, ['command', 'is_background']),
  tool('write_file', { file_path: text, content: text }),
  tool('read_file', { absolute_path: text }),
  tool('replace', { file_path: text, old_string: text, new_string: text }),
]
const EDITOR = [
  tool('str_replace_based_edit_tool', {
    command: { enum: ['view', 'create', 'str_replace'] },
    path: text,
    file_text: text,
    old_str: text,
    new_str: text,
  }),
]

describe('a role', () => {
  it('is found in the tools of each agent, with its fields', () => {
    const sh = { sh: 'ls' }
    expect(resolveCall(sh, CLAUDE)).toEqual({ name: 'Bash', input: { command: 'ls' } })
    expect(resolveCall(sh, CODEX)).toEqual({ name: 'exec_command', input: { cmd: 'ls', yield_time_ms: 1_000 } })
    expect(resolveCall(sh, GEMINI)).toEqual({
      name: 'run_shell_command',
      input: { command: 'ls', is_background: false },
    })
    expect(resolveCall(sh, [tool('shell', { command: { type: 'array' } })])?.input).toEqual({
      command: ['bash', '-lc', 'ls'],
    })
    expect(resolveCall(sh, [tool('mcp__server_bash', { command: text })])?.name).toBe('mcp__server_bash')
  })

  it('of files may be a tool for each, one editor, a patch, or the shell', () => {
    const write = { write: { path: 'a b.txt', text: "it's\n" } }
    expect(resolveCall(write, GEMINI)).toEqual({
      name: 'write_file',
      input: { file_path: 'a b.txt', content: "it's\n" },
    })
    expect(resolveCall(write, EDITOR)?.input).toEqual({ command: 'create', path: 'a b.txt', file_text: "it's\n" })
    expect(resolveCall(write, CODEX)).toEqual({
      name: 'apply_patch',
      freeform: true,
      input: "*** Begin Patch\n*** Add File: a b.txt\n+it's\n*** End Patch\n",
    })
    expect(resolveCall(write, CODEX.slice(0, 1))?.input).toMatchObject({
      cmd: "cat > 'a b.txt' <<'NERVE_END'\nit's\nNERVE_END",
    })
    expect(resolveCall({ read: "a'b" }, CODEX)?.input).toMatchObject({ cmd: String.raw`cat 'a'\''b'` })
    expect(resolveCall({ read: 'a' }, EDITOR)?.input).toEqual({ command: 'view', path: 'a' })
    expect(resolveCall({ read: 'a' }, GEMINI)?.input).toEqual({ absolute_path: 'a' })
  })

  it('edits with a tool or a patch, and is undefined when there is neither', () => {
    const edit = { edit: { path: 'a', old: 'x', new: 'y' } }
    expect(resolveCall(edit, CLAUDE)).toEqual({
      name: 'Edit',
      input: { file_path: 'a', old_string: 'x', new_string: 'y' },
    })
    expect(resolveCall(edit, EDITOR)?.input).toEqual({ command: 'str_replace', path: 'a', old_str: 'x', new_str: 'y' })
    expect(resolveCall(edit, CODEX)?.input).toContain('*** Update File: a\n@@\n-x\n+y\n')
    expect(resolveCall(edit, GEMINI.slice(0, 1))).toBeUndefined()
    expect(resolveCall({ sh: 'ls' }, [])).toBeUndefined()
  })

  it('asks one question, in a list of them or alone', () => {
    const ask = { ask: { question: 'Which?', options: ['a', 'b'] } }
    const options = [
      { label: 'a', description: 'a' },
      { label: 'b', description: 'b' },
    ]
    const item = { type: 'object', properties: { multiSelect: { type: 'boolean' }, header: text } }
    const required = ['question', 'options', 'header', 'multiSelect']
    const claude = tool('AskUserQuestion', { questions: { type: 'array', items: { ...item, required } } }, [
      'questions',
    ])
    expect(resolveCall(ask, [claude])?.input).toEqual({
      questions: [{ question: 'Which?', options, header: 'scripted', multiSelect: false }],
    })
    const copilot = tool('ask_user', { question: text, choices: { type: 'array' } }, ['question'])
    expect(resolveCall(ask, [copilot])?.input).toEqual({ question: 'Which?', choices: ['a', 'b'] })
    expect(resolveCall(ask, CODEX)).toBeUndefined()
  })

  it('is not needed for a tool that is named', () => {
    const mine: ModelTool = { ...tool('mine'), namespace: 'box' }
    expect(resolveCall({ tool: 'mine', input: { a: 1 } }, [mine])).toEqual({
      name: 'mine',
      namespace: 'box',
      input: { a: 1 },
    })
    expect(resolveCall({ tool: 'other' }, [mine])).toBeUndefined()
  })
})

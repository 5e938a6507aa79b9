/**
 * Who decides what an agent may do: rules first, a person for the rest.
 *
 * A rule is a tool or a kind of tool, and in brackets what its input must look like: `read`, `Edit(src/**)`, `shell(git *)`. A
 * pattern that allows a shell command never matches one that is more than one command, because `git *` is not meant to allow
 * `git status; rm -rf .`.
 */
import type { JsonSchema } from '../../base/json-schema.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { PermissionDecision, PermissionRequest, ToolKind } from './adapter.ts'
import { namesOf, realNamesOf, realPattern } from './linked-files.ts'
import { isOneCommand } from './one-command.ts'

export interface PermissionRules {
  readonly allow?: readonly string[]
  /** Stronger than `allow`. */
  readonly deny?: readonly string[]
  /** For what no rule matches (default `ask`). */
  readonly otherwise?: 'allow' | 'deny' | 'ask'
}

export type PermissionPolicy = 'allow' | 'deny' | 'ask' | PermissionRules

export interface PermissionPlan {
  readonly allow: readonly Rule[]
  readonly deny: readonly Rule[]
  readonly otherwise: 'allow' | 'deny' | 'ask'
}

/** What rules look at. */
type Matched = Pick<PermissionRequest, 'tool' | 'kind' | 'title' | 'input'>

interface Rule {
  readonly text: string
  readonly tool: RegExp
  readonly input: RegExp | undefined
  /** The same as it was written. */
  readonly pattern: string
}

const RULE = /^([\w*:.-]+)(?:\((.*)\))?$/s

export function planPermission(what: string, policy: PermissionPolicy = 'ask'): PermissionPlan {
  const { allow = [], deny = [], otherwise = 'ask' } = typeof policy === 'string' ? { otherwise: policy } : policy
  if (otherwise !== 'allow' && otherwise !== 'deny' && otherwise !== 'ask')
    throw new NerveError('bad-option', `${what}: permission is ${JSON.stringify(otherwise)}; give allow, deny or ask.`)
  return {
    allow: allow.map((text) => ruleOf(what, text)),
    deny: deny.map((text) => ruleOf(what, text, 'i')),
    otherwise,
  }
}

/** Small letters are not capital ones (`git branch -d`, `-D`), but one that denies does not look so closely. */
function ruleOf(what: string, text: unknown, flags = ''): Rule {
  const [, tool, input] = (typeof text === 'string' ? RULE.exec(text) : null) ?? []
  if (tool === undefined)
    throw new NerveError(
      'bad-option',
      `${what}: ${JSON.stringify(text)} is no rule. Give a tool or a kind of tool, such as read, Edit(src/**) or shell(git *).`,
    )
  return {
    text: text as string,
    tool: globOf(tool, 'i'),
    input: input === undefined ? undefined : globOf(input, flags),
    pattern: input ?? '*',
  }
}

function globOf(text: string, flags: string): RegExp {
  const pieces = text.split('*').map((piece) => piece.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`))
  return new RegExp(`^${pieces.join('.*')}$`, [...new Set(`s${flags}`)].join(''))
}

/** What the rules say; `ask` when a person has to. Paths in rules are from `cwd`. */
export function decide(plan: PermissionPlan, request: Matched, cwd: string): PermissionDecision | 'ask' {
  const denied = plan.deny.find((rule) => denies(rule, request, cwd))
  if (denied !== undefined) return { allow: false, reason: `The rule ${denied.text} denies it.` }
  if (plan.allow.some((rule) => allows(rule, request, cwd))) return { allow: true }
  if (plan.otherwise === 'ask') return 'ask'
  return plan.otherwise === 'allow' ? { allow: true } : { allow: false, reason: 'No rule allows it.' }
}

/** A rule that allows must match all that is wanted; a file where it really is. */
function allows({ tool, input, pattern }: Rule, request: Matched, cwd: string): boolean {
  if (!tool.test(request.tool) && !tool.test(request.kind)) return false
  if (input === undefined) return true
  return subjectsOf(request).every((subject) => {
    if (isCommand(request, subject)) return input.test(subject) && (!pattern.includes('*') || isOneCommand(subject))
    if (!isFile(request)) return input.test(subject)
    const real = globOf(realPattern(pattern, cwd), input.flags)
    return realNamesOf(subject, cwd).every((names) => names.some((name) => input.test(name) || real.test(name)))
  })
}

/** For one that denies, any part of it is enough, however it is written, and any name of a file. */
function denies({ tool, input, pattern }: Rule, request: Matched, cwd: string): boolean {
  if (!tool.test(request.tool) && !tool.test(request.kind)) return false
  if (input === undefined) return true
  return subjectsOf(request).some((subject) => {
    if (isCommand(request, subject)) return [subject, ...commandsIn(subject)].some((part) => input.test(part))
    if (!isFile(request)) return input.test(subject)
    const real = globOf(realPattern(pattern, cwd), input.flags)
    const names = [subject, ...namesOf(subject, cwd), ...realNamesOf(subject, cwd).flat()]
    return names.some((name) => input.test(name) || real.test(name))
  })
}

/** Also that of a tool of which nothing is known. */
function isCommand({ kind, input }: Matched, subject: string): boolean {
  if (kind === 'shell' || textsIn(input, COMMANDS).includes(subject)) return true
  return kind === 'other' && subjectIn(input) === undefined
}

function isFile({ kind }: Matched): boolean {
  return kind === 'edit' || kind === 'read'
}

/** What comes before a command without being another one. */
const BEFORE =
  /^(?:(?:[!{]|if|then|elif|else|while|until|do|time|and|or|not|begin|noglob|command|builtin|eval|exec|env|nohup|nice|sudo|doas|xargs|(?:\S*\/)?(?:ba|da|k|z)?sh -\w*c|\w+=\S*) )+/

const BETWEEN = /[;&|`<>\n\r]|\$\(/

/** In zsh a pattern can say what runs for each file that it matches: `*(e:'touch this':)`. */
const QUALIFIER = /\([^\s()]*?(?:e\W|\+)([^()]*)/g

/** The commands in a line of a shell, also those that are written in a roundabout way. */
function commandsIn(line: string): readonly string[] {
  const plain = line.replaceAll(/\\\r?\n/g, '').replaceAll(/\$?['"]|\\/g, '')
  const parts = [line, plain].flatMap((text) => text.split(BETWEEN)).concat(plain.split(/[;&|`<>\n\r()]/))
  for (const [, run = ''] of plain.matchAll(QUALIFIER)) parts.push(run, run.slice(0, -1))
  return parts.flatMap((part) => {
    const words = part.trim().replaceAll(/\s+/g, ' ')
    const command = words.replace(BEFORE, '')
    return [part.trim(), words, command, command.replace(/^\S*\//, '')]
  })
}

const COMMANDS = ['command', 'cmd']
const FILES = ['paths', 'file_path', 'path', 'filePath', 'filepath', 'notebook_path']
const SUBJECTS = [...COMMANDS, ...FILES, 'url', 'pattern', 'query']

/** What a tool of a kind goes by. A model may write other fields beside these, which the tool does not look at. */
const FIELDS: Readonly<Partial<Record<ToolKind, readonly string[]>>> = {
  shell: COMMANDS,
  edit: FILES,
  read: FILES,
  fetch: ['url'],
}

/** What a rule's brackets are about: all of it. */
function subjectsOf({ kind, input, title }: Matched): readonly string[] {
  if (typeof input === 'string') return [input]
  for (const fields of [FIELDS[kind] ?? [], ['paths'], COMMANDS]) {
    const found = textsIn(input, fields)
    if (found.length > 0) return kind === 'shell' ? [...found, ...withArguments(input, found)] : found
  }
  return [subjectIn(input) ?? title]
}

/** Whether the tool looks at them is not known: both have to be right. */
function withArguments(input: unknown, commands: readonly string[]): readonly string[] {
  return textsIn(input, ['args']).flatMap((given) => commands.map((command) => `${command} ${given}`))
}

/** The command, the file or the address in the input of a tool. */
export function subjectIn(input: unknown): string | undefined {
  for (const name of SUBJECTS) {
    const texts = textsIn(input, [name])
    if (texts.length > 0) return texts.join(' ')
  }
  return undefined
}

function textsIn(input: unknown, names: readonly string[]): readonly string[] {
  const fields = typeof input === 'object' && input !== null ? (input as Readonly<Record<string, unknown>>) : {}
  return names.flatMap((name) => {
    const value = fields[name]
    if (name === 'paths' && Array.isArray(value)) return value.map(String)
    if (Array.isArray(value)) return [value.join(' ')]
    return typeof value === 'string' ? [value] : []
  })
}

export const CHOICES = ['allow', 'deny'] as const

const DENY = {
  type: 'object',
  properties: { deny: { type: 'string' } },
  required: ['deny'],
  additionalProperties: false,
}

/** Beside the choices: `{ deny: 'why' }`, and `{ allow: INPUT }` for another input, unless something is said to prevent it. */
export function answersBeside(fixed?: string): JsonSchema {
  const allowed = fixed === undefined ? {} : { const: true }
  const allow = { type: 'object', properties: { allow: allowed }, required: ['allow'], additionalProperties: false }
  const ways =
    fixed === undefined ? 'allow, deny, {"allow": INPUT} or {"deny": "why"}' : 'allow, deny or {"deny": "why"}'
  return { anyOf: [DENY, allow], description: `${fixed === undefined ? '' : `${fixed} `}Answer ${ways}.` }
}

export function decisionOf(answer: unknown): PermissionDecision | undefined {
  if (answer === 'allow') return { allow: true }
  if (answer === 'deny') return { allow: false, reason: 'A person denied it.' }
  if (typeof answer !== 'object' || answer === null) return undefined
  if ('allow' in answer) return answer.allow === true ? { allow: true } : { allow: true, input: answer.allow }
  return 'deny' in answer && typeof answer.deny === 'string' ? { allow: false, reason: answer.deny } : undefined
}

/** A decision with every field that an adapter may hand on. */
export interface Verdict {
  readonly verdict: 'allow' | 'deny' | 'defer'
  /** Why it is not allowed. */
  readonly reason?: string
  /** What a person has made of the input. */
  readonly input?: unknown
}

export function verdictOf(decision: PermissionDecision): Verdict {
  if ('defer' in decision) return { verdict: 'defer', reason: 'not decided yet' }
  if (decision.allow) return { verdict: 'allow', input: decision.input }
  return { verdict: 'deny', reason: decision.reason ?? 'denied' }
}

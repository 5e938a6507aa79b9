/**
 * An agent without a model: what it says and does is a function of what it is told. Its sessions are files, its tools are real
 * commands and real files, and it asks for permission like the others, so that everything around agents can be tried, tested
 * and shown without a key.
 */
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'
import {
  ABILITIES,
  able,
  CONTRACT,
  type AgentAdapter,
  type AgentOpen,
  type AgentPart,
  type AgentSession,
  type AgentTurnEnd,
  type PermissionDecision,
  type SessionRef,
} from './adapter.ts'
import { signalGroup, spawnWrapped } from './agent-process.ts'

export type ScriptedStep =
  | { readonly say: string }
  | { readonly think: string }
  | { readonly shell: string }
  | { readonly write: string; readonly text: string }
  | { readonly read: string }
  | { readonly data: unknown }
  | {
      readonly usage: {
        readonly input?: number
        readonly output?: number
        readonly usd?: number
        readonly window?: number
      }
    }
  | { readonly fail: string; readonly as?: AgentTurnEnd['reason']; readonly retryAt?: number }

/** What is known when a turn begins. */
export interface ScriptedTurn {
  readonly prompt: string
  /** 1 for the first turn of the session. */
  readonly number: number
  /** The prompts before this one. */
  readonly before: readonly string[]
  readonly cwd: string
}

export interface ScriptedAgentOptions {
  /** What the agent does in a turn. The same turn must give the same steps: after a deferral it is asked again. */
  readonly script: (turn: ScriptedTurn) => readonly ScriptedStep[]
  /** Where its sessions are kept. */
  readonly folder: string
  readonly name?: string
}

interface Saved {
  readonly prompts: readonly string[]
  /** How many steps of the last prompt are done; undefined when all are. */
  readonly done?: number
}

export function scriptedAgent({ script, folder, name = 'scripted' }: ScriptedAgentOptions): AgentAdapter {
  return {
    contract: CONTRACT,
    name,
    variables: [],
    capabilities: { ...able(...ABILITIES), gateway: false },
    probe: async () => ({ found: true, version: '1', licence: 'MIT', install: 'nothing to install' }),
    open: async (options) => new ScriptedSession(name, script, resolve(folder), options),
  }
}

class ScriptedSession implements AgentSession {
  readonly ref: SessionRef
  readonly native: unknown = undefined
  readonly #script: ScriptedAgentOptions['script']
  readonly #folder: string
  readonly #options: AgentOpen
  #child: ChildProcess | undefined
  #interrupted = false

  constructor(agent: string, script: ScriptedAgentOptions['script'], folder: string, options: AgentOpen) {
    const { resume, forkFrom, id, cwd } = options
    this.#script = script
    this.#folder = folder
    this.#options = options
    mkdirSync(folder, { recursive: true })
    this.ref = { agent, id: resume?.id ?? id ?? randomUUID(), cwd }
    if (resume !== undefined) this.#load()
    else this.#save(forkFrom === undefined ? { prompts: [] } : this.#load(forkFrom.id))
  }

  prompt(text: string): AsyncIterable<AgentPart> {
    const { prompts } = this.#load()
    this.#save({ prompts: [...prompts, text], done: 0 })
    return this.#turn()
  }

  proceed(): AsyncIterable<AgentPart> {
    return this.#turn()
  }

  async interrupt(): Promise<void> {
    this.#interrupted = true
    // The command may have started others.
    if (this.#child !== undefined) signalGroup(this.#child, 'SIGKILL')
  }

  async compact(): Promise<void> {
    const { prompts } = this.#load()
    this.#save({ prompts: prompts.length === 0 ? [] : [`(${prompts.length} turns)`] })
  }

  async fork(): Promise<SessionRef> {
    const ref = { ...this.ref, id: randomUUID() }
    writeFileSync(this.#file(ref.id), JSON.stringify(this.#load()))
    return ref
  }

  async close(): Promise<void> {
    await this.interrupt()
  }

  async *#turn(): AsyncGenerator<AgentPart, void> {
    this.#interrupted = false
    const { prompts, done = 0 } = this.#load()
    const turn = {
      prompt: prompts.at(-1) ?? '',
      number: prompts.length,
      before: prompts.slice(0, -1),
      cwd: this.ref.cwd,
    }
    const said: string[] = []
    let data: unknown
    let at = done
    for (const step of this.#script(turn).slice(done)) {
      this.#options.onNative?.({ step })
      const ended = yield* this.#step(step, `${turn.number}-${at}`, said)
      if ('data' in step) data = step.data
      const over = this.#interrupted ? this.#end('interrupted', said) : ended
      if (over !== undefined) {
        yield { ...over, text: said.join('\n') }
        return
      }
      at += 1
      this.#save({ prompts, done: at })
    }
    this.#save({ prompts })
    yield { ...this.#end('done', said), ...(data === undefined ? {} : { data }) }
  }

  #end(reason: AgentTurnEnd['reason'], said: readonly string[]): AgentTurnEnd {
    return { type: 'turn-end', reason, text: said.join('\n') }
  }

  /** One step; what it returns ends the turn. */
  async *#step(step: ScriptedStep, id: string, said: string[]): AsyncGenerator<AgentPart, AgentTurnEnd | undefined> {
    if ('say' in step) {
      said.push(step.say)
      yield { type: 'text', text: step.say }
    } else if ('think' in step) yield { type: 'thinking', text: step.think }
    else if ('usage' in step) yield { type: 'usage', usage: step.usage }
    else if ('fail' in step) {
      const { fail: error, as: reason = 'error', retryAt } = step
      return { type: 'turn-end', reason, text: '', error, ...(retryAt === undefined ? {} : { retryAt }) }
    } else if (!('data' in step)) return yield* this.#tool(step, id, said)
    return undefined
  }

  async *#tool(
    step: Extract<ScriptedStep, { shell: string } | { write: string } | { read: string }>,
    id: string,
    said: string[],
  ): AsyncGenerator<AgentPart, AgentTurnEnd | undefined> {
    const { tool, kind, input } = toolOf(step)
    const title = Object.values(input)[0] ?? ''
    yield { type: 'tool-start', id, tool, input }
    const decision: PermissionDecision = await this.#options.permission({ id, tool, kind, title, input })
    if ('defer' in decision) return this.#end('deferred', said)
    if (!decision.allow) {
      said.push(`denied: ${decision.reason ?? ''}`)
      yield { type: 'tool-end', id, ok: false, output: decision.reason ?? 'denied' }
      return undefined
    }
    const used = await this.#use(tool, (decision.input ?? input) as Readonly<Record<string, string>>)
    yield { type: 'tool-end', id, ...used }
    return undefined
  }

  /** Everything by a command of its own, also what reads and writes files: so a sandbox holds for all of it. */
  async #use(tool: string, input: Readonly<Record<string, string>>): Promise<{ ok: boolean; output: string }> {
    const { command = '', path = '', text = '' } = input
    const file = resolve(this.ref.cwd, path)
    try {
      if (tool === 'write') return await this.#run(['-c', 'cat > "$0"', file], text)
      return await this.#run(tool === 'read' ? ['-c', 'cat < "$0"', file] : ['-c', command])
    } catch (error) {
      return { ok: false, output: (error as Error).message }
    }
  }

  #run(args: readonly string[], input?: string): Promise<{ ok: boolean; output: string }> {
    const { env } = this.#options
    const stdio = [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'] as const
    const how = { cwd: this.ref.cwd, env, stdio: [...stdio], detached: true }
    const child = spawnWrapped({ file: '/bin/sh', args }, how, this.#options)
    this.#child = child
    let output = ''
    const hear = (piece: Buffer): void => {
      output += piece.toString()
    }
    child.stdout?.on('data', hear)
    child.stderr?.on('data', hear)
    // A command that could not begin does not read.
    child.stdin?.on('error', () => undefined).end(input)
    return new Promise((done, failed) => {
      child.on('error', failed)
      child.on('close', (code) => done({ ok: code === 0, output }))
    })
  }

  #file(id: string): string {
    return join(this.#folder, `${id}.json`)
  }

  #load(id = this.ref.id): Saved {
    try {
      return JSON.parse(readFileSync(this.#file(id), 'utf8')) as Saved
    } catch (cause) {
      throw new NerveError('agent-failed', `There is no session ${id} of ${this.ref.agent}.`, { cause })
    }
  }

  #save(saved: Saved): void {
    writeFileSync(this.#file(this.ref.id), JSON.stringify(saved))
  }
}

function toolOf(step: { shell: string } | { write: string; text: string } | { read: string }) {
  if ('shell' in step) return { tool: 'shell', kind: 'shell', input: { command: step.shell } } as const
  if ('write' in step) return { tool: 'write', kind: 'edit', input: { path: step.write, text: step.text } } as const
  return { tool: 'read', kind: 'read', input: { path: step.read } } as const
}

/**
 * An agent without a model: what it says and does is a function of what it is told. Its sessions are files, its tools are real
 * commands and real files, and it asks for permission like the others, so that everything around agents can be tried, tested
 * and shown without a key.
 */
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import {
  allBut,
  CONTRACT,
  type AgentAdapter,
  type AgentOpen,
  type AgentPart,
  type AgentSession,
  type AgentTurnEnd,
  type SessionRef,
} from './adapter.ts'
import { signalGroup, spawnWrapped } from './agent-process.ts'
import { decideCall } from './decide-call.ts'
import { ScriptedSessions, type Saved } from './scripted-sessions.ts'

export type ScriptedStep =
  /** `{{answer}}` in it is what a person has answered last. */
  | { readonly say: string }
  | { readonly ask: string; readonly options?: readonly string[] }
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

export function scriptedAgent({ script, folder, name = 'scripted' }: ScriptedAgentOptions): AgentAdapter {
  return {
    contract: CONTRACT,
    name,
    variables: [],
    capabilities: allBut('gateway'),
    probe: async () => ({ found: true, version: '1', licence: 'MIT', install: 'nothing to install' }),
    open: async (options) => new ScriptedSession(script, new ScriptedSessions(name, resolve(folder)), options),
  }
}

class ScriptedSession implements AgentSession {
  readonly ref: SessionRef
  readonly native: unknown = undefined
  readonly #script: ScriptedAgentOptions['script']
  readonly #sessions: ScriptedSessions
  readonly #options: AgentOpen
  #child: ChildProcess | undefined
  #interrupted = false
  #answer = ''

  constructor(script: ScriptedAgentOptions['script'], sessions: ScriptedSessions, options: AgentOpen) {
    const { resume, forkFrom, id, cwd } = options
    this.#script = script
    this.#sessions = sessions
    this.#options = options
    this.ref = { agent: sessions.agent, id: resume?.id ?? id ?? randomUUID(), cwd }
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
    this.#sessions.save(ref.id, this.#load())
    return ref
  }

  async close(): Promise<void> {
    await this.interrupt()
  }

  async *#turn(): AsyncGenerator<AgentPart, void> {
    this.#interrupted = false
    const { prompts, done = 0, answer = '' } = this.#load()
    this.#answer = answer
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
      this.#save({ prompts, done: at, answer: this.#answer })
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
      const text = step.say.replaceAll('{{answer}}', this.#answer)
      said.push(text)
      yield { type: 'text', text }
    } else if ('think' in step) yield { type: 'thinking', text: step.think }
    else if ('usage' in step) yield { type: 'usage', usage: step.usage }
    else if ('fail' in step) {
      const { fail: error, as: reason = 'error', retryAt } = step
      return { type: 'turn-end', reason, text: '', error, ...(retryAt === undefined ? {} : { retryAt }) }
    } else if (!('data' in step)) return yield* this.#tool(step, id, said)
    return undefined
  }

  async *#tool(
    step: Extract<ScriptedStep, { shell: string } | { write: string } | { read: string } | { ask: string }>,
    id: string,
    said: string[],
  ): AsyncGenerator<AgentPart, AgentTurnEnd | undefined> {
    const { tool, kind, input } = toolOf(step)
    yield { type: 'tool-start', id, tool, input }
    const decided = await decideCall(this.#options, { id, tool, kind, input })
    const { verdict, reason = '', answers } = decided
    if (verdict === 'defer') return this.#end('deferred', said)
    if (verdict === 'deny') said.push(`denied: ${reason}`)
    if (answers !== undefined) this.#answer = Object.values(answers).join()
    if (verdict === 'deny') yield { type: 'tool-end', id, ok: false, output: reason }
    else if (answers !== undefined) yield { type: 'tool-end', id, ok: true, output: this.#answer }
    else yield { type: 'tool-end', id, ...(await this.#use(tool, (decided.input ?? input) as Input)) }
    return undefined
  }

  /** Everything by a command of its own, also what reads and writes files: so a sandbox holds for all of it. */
  async #use(tool: string, { command = '', path = '', text = '' }: Input): Promise<{ ok: boolean; output: string }> {
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

  #load(id = this.ref.id): Saved {
    return this.#sessions.load(id)
  }

  #save(saved: Saved): void {
    this.#sessions.save(this.ref.id, saved)
  }
}

type Input = Readonly<Record<string, string>>

function toolOf(
  step:
    | { shell: string }
    | { write: string; text: string }
    | { read: string }
    | { ask: string; options?: readonly string[] },
) {
  if ('shell' in step) return { tool: 'shell', kind: 'shell', input: { command: step.shell } } as const
  if ('write' in step) return { tool: 'write', kind: 'edit', input: { path: step.write, text: step.text } } as const
  if ('read' in step) return { tool: 'read', kind: 'read', input: { path: step.read } } as const
  return { tool: 'ask', kind: 'question', input: { question: step.ask, choices: step.options ?? [] } } as const
}

/**
 * One life of Claude Code: a process in a terminal that has the conversation open, and the door through which its hooks
 * come. A resumed conversation is another life.
 *
 * Owns: the terminal, the door, and the folder with the settings that name it.
 * Must not know: steps, prompts, questions.
 *
 * Invariants: no two processes of this machine have one conversation open; after `stop`, and after a start that failed, no
 * process, no door and no file is left.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { NerveError, isNerveError } from '../../base/nerve-error.ts'
import { claude } from '../parsers/claude.ts'
import type { ParsedScreen } from '../parsers/parser.ts'
import { terminal, type TerminalNode, type TerminalPart } from '../terminal/terminal.ts'
import type { ClaudePlan } from './claude-options.ts'
import { HOOK_NAMES, isFields, type Hook, type HookEvent, type PermissionHook } from './hook-events.ts'
import { openHookDoor, type HookDoor, type HookReply } from './hook-server.ts'
import { isAlive, openElsewhere, transcriptOf } from './session-record.ts'

export interface LifeListener {
  onEvent(event: HookEvent): void
  onPermission(event: PermissionHook, gone: AbortSignal): Promise<HookReply>
}

const INSTALL = 'npm install --global @anthropic-ai/claude-code'
/** How long a process that has the conversation open may take to go: the guard of a dead host needs a moment. */
const RELEASE_MS = 5_000
const LOOK_MS = 100
/** Claude Code waits this long for an answer, in seconds: as long as its timers can. */
const HOOK_PATIENCE = 20 * 24 * 60 * 60
/** The name of a folder with settings, up to the number of the process that made it. */
const FOLDER = 'nerve-claude-'
/** The conversations that this process has open, or is about to open. */
const inUse = new Set<string>()

export class ClaudeLife {
  readonly terminal: TerminalNode
  /** The conversation. It changes when somebody begins another one at the screen. */
  session: string
  transcript: string | undefined
  listener: LifeListener | undefined
  ended = false
  readonly #id: string
  readonly #door: HookDoor
  readonly #folder: string
  #stopping: Promise<void> | undefined

  private constructor({ id, session, door, folder, own }: Parts) {
    this.#id = id
    this.session = session
    this.#door = door
    this.#folder = folder
    this.terminal = own
  }

  /** Starts Claude Code. It is not ready yet. */
  static async start(
    id: string,
    plan: ClaudePlan,
    session: string,
    watch: (life: ClaudeLife, part: TerminalPart) => void,
  ): Promise<ClaudeLife> {
    if (inUse.has(session)) throw takenBy(id, session, 'another node of this process')
    inUse.add(session)
    let life: ClaudeLife | undefined
    try {
      await alone(id, plan, session)
      sweep(session)
      const door = await openHookDoor((hook, gone) => life?.hear(hook, gone) ?? {})
      const made = new ClaudeLife(partsOf(id, plan, session, door))
      life = made
      made.transcript = transcriptOf(plan.configDir, session)
      made.terminal.watch((part) => {
        if (part.type === 'state' && (part.state === 'stopped' || part.state === 'error')) made.ended = true
        watch(made, part)
      })
      await made.terminal.start()
      return made
    } catch (error) {
      await life?.stop()
      inUse.delete(session)
      throw plan.ownCommand && isNerveError(error, 'command-failed') && error.data['reason'] === 'program'
        ? notInstalled(id, error)
        : error
    }
  }

  /** What the screen shows. */
  async look(): Promise<ParsedScreen> {
    return claude.parse((await this.terminal.screen()).rows.join('\n'))
  }

  /** Types, also while somebody else has taken over. When Claude Code has ended, there is nobody to type for. */
  async press(keys: string): Promise<void> {
    try {
      if (!this.ended) await this.terminal.write(keys, this.terminal.info().writer)
    } catch (error) {
      if (!isNerveError(error, 'terminal-ended')) throw error
    }
  }

  /** Why it has ended, as the terminal says it. */
  async whyEnded(): Promise<NerveError> {
    try {
      await this.terminal.write('', this.terminal.info().writer)
    } catch (error) {
      if (isNerveError(error)) return error
      throw error
    }
    return new NerveError('terminal-ended', `Claude Code in '${this.#id}' has ended.`)
  }

  async hear({ event, session, transcript }: Hook, gone: AbortSignal): Promise<HookReply> {
    if (event.type === 'prompt') this.#follow(session)
    if (transcript !== undefined && session === this.session) this.transcript = transcript
    if (event.type === 'permission') return (await this.listener?.onPermission(event, gone)) ?? {}
    this.listener?.onEvent(event)
    return {}
  }

  /** Ends Claude Code and what it started, and takes away what was laid down for it. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    try {
      await this.terminal.stop()
    } finally {
      this.ended = true
      this.#door.close()
      rmSync(this.#folder, { recursive: true, force: true })
      inUse.delete(this.session)
    }
  }

  /** `/clear` begins another conversation. */
  #follow(session: string): void {
    if (session === this.session) return
    inUse.delete(this.session)
    this.session = session
    inUse.add(session)
  }
}

interface Parts {
  readonly id: string
  readonly session: string
  readonly door: HookDoor
  readonly folder: string
  readonly own: TerminalNode
}

/** Everything that there is before the process. */
function partsOf(id: string, plan: ClaudePlan, session: string, door: HookDoor): Parts {
  let folder = ''
  try {
    // Only this person may look into it.
    folder = mkdtempSync(join(tmpdir(), `${FOLDER}${process.pid}-${session}-`))
    const settings = join(folder, 'settings.json')
    writeFileSync(settings, JSON.stringify(withHooks(plan.settings, door.url)), { mode: 0o600 })
    const args = [...conversation(plan, session), '--settings', settings, ...plan.args]
    // The signs by which a terminal knows that it is ready are those of shells; here the screen tells.
    const own = terminal(id, { ...plan.options, args, marks: 'off', startTimeout: 1 })
    return { id, session, door, folder, own }
  } catch (error) {
    door.close()
    if (folder !== '') rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

function conversation({ configDir, copyOf }: ClaudePlan, session: string): readonly string[] {
  if (transcriptOf(configDir, session) !== undefined) return ['--resume', session]
  if (copyOf !== undefined && transcriptOf(configDir, copyOf) !== undefined)
    return ['--resume', copyOf, '--fork-session', '--session-id', session]
  return ['--session-id', session]
}

/** The person's own hooks are kept. */
function withHooks(settings: Readonly<Record<string, unknown>>, url: string): Readonly<Record<string, unknown>> {
  const own = isFields(settings['hooks']) ? settings['hooks'] : {}
  const ours = HOOK_NAMES.map((name) => {
    const there: readonly unknown[] = Array.isArray(own[name]) ? own[name] : []
    return [name, [...there, { hooks: [{ type: 'http', url, timeout: HOOK_PATIENCE }] }]] as const
  })
  return { ...settings, hooks: { ...own, ...Object.fromEntries(ours) } }
}

/** Ends what an earlier process left in the node's pane. */
export async function endLeft(id: string, { options }: ClaudePlan): Promise<void> {
  if (options.in !== undefined) await terminal(id, options).stop()
}

/** Waits until no other process has the conversation open. */
async function alone(id: string, plan: ClaudePlan, session: string): Promise<void> {
  const { configDir } = plan
  const open = openElsewhere(configDir, session)
  // A pane outlives its host, and what is in it still has the address of a door that is gone.
  if (open === undefined || !(await hostLives(open))) await endLeft(id, plan)
  const deadline = performance.now() + RELEASE_MS
  for (;;) {
    const pid = openElsewhere(configDir, session)
    if (pid === undefined) return
    if (performance.now() > deadline) throw takenBy(id, session, `process ${pid}`)
    await delay(LOOK_MS)
  }
}

/** What a process that was killed had laid down for this conversation: nobody has it open now. */
function sweep(session: string): void {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(FOLDER) || !name.includes(session)) continue
    const left = join(tmpdir(), name)
    if (statSync(left, { throwIfNoEntry: false })?.uid === process.getuid?.())
      rmSync(left, { recursive: true, force: true })
  }
}

/** True when a Claude was started by a process that is still there, or by a person. Its settings say by which. */
async function hostLives(pid: number): Promise<boolean> {
  const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', 'args=', '-p', String(pid)])
  const host = new RegExp(`${FOLDER}(\\d+)-`).exec(stdout)?.[1]
  return host === undefined || isAlive(Number(host))
}

function takenBy(id: string, session: string, who: string): NerveError {
  return new NerveError(
    'not-ready',
    `Claude in '${id}' cannot open the conversation ${session}: ${who} has it open, and two would spoil it. End that one, or give another session.`,
    { retry: 'later', data: { session } },
  )
}

function notInstalled(id: string, cause: NerveError): NerveError {
  return new NerveError(
    'package-missing',
    `'${id}' needs Claude Code: there is no program 'claude' in PATH. Install it: ${INSTALL}. Or give its place as command.`,
    { cause, data: { package: '@anthropic-ai/claude-code', install: INSTALL } },
  )
}

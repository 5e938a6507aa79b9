/** What must hold when the host of an agent is killed: nothing of the agent is left, and another host goes on in its session. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { SessionRef } from 'nerve/agents'
import { createGateway, scripted, type Gateway } from 'nerve/gateway'
import { COUNT, promptedScript, scriptPrompt, stepsIn } from 'nerve/testing'
import { leaseSession } from '../../src/nodes/agents/session-lease.ts'
import { whyNoSandbox } from '../../src/testing/agent-isolation-conformance.ts'
import { agentNamed, missing, ROOT, type AgentName } from './under-test.ts'

export interface Job {
  readonly name: AgentName | 'scripted'
  readonly dir: string
  readonly home: string
  readonly cwd: string
  readonly gateway: { readonly url: string; readonly token: string }
  readonly prompt: string
  readonly permission: 'allow' | 'ask'
  readonly compacts: boolean
  readonly sandboxed: boolean
  /** It dies when it is about to say the first word to it, or to a copy of it that knows something. */
  readonly mute: boolean
  readonly copies: boolean
  /** The second host, that goes on with the run of the first. */
  readonly again: boolean
}

type Said = {
  readonly asked?: number
  readonly session?: string
  readonly sessions?: readonly string[]
  readonly compacting?: true
  readonly result?: { readonly text: string }
}

const WORKER = join(ROOT, 'test', 'agents', 'killed-worker.ts')
/** Ends when the test says so: before that, the host is killed in it. */
const TOOL = 'touch began; while [ ! -e go ]; do sleep 0.1; done; touch ended'

export function killed(name: AgentName | 'scripted', skip: { readonly compaction?: string } = {}): void {
  const vendor = name === 'scripted' ? undefined : agentNamed(name)
  const lacks = vendor === undefined ? undefined : missing(vendor)
  if (lacks !== undefined) console.warn(`SKIPPED: the agent ${name} is ${lacks}`)
  const resumes = vendor?.adapter.capabilities.resume ?? true

  describe(`the host of ${name} is killed`, { timeout: 240_000, skip: lacks !== undefined }, () => {
    let gateway: Gateway
    let home = ''
    const compaction = Promise.withResolvers<void>()
    /** After the answer to its prompt: what the model is asked then is for a summary. */
    let hangs = false

    beforeAll(async () => {
      mkdirSync(join(ROOT, 'coverage'), { recursive: true })
      home = mkdtempSync(join(ROOT, 'coverage', 'killed-'))
      gateway = await createGateway({
        backend: scripted((request, view) => {
          const wish = stepsIn(view.user) !== undefined && !view.user.includes('summary')
          if (!hangs || wish) return promptedScript(request, view)
          compaction.resolve()
          return { wait: 60_000, say: 'too late' }
        }),
      })
    })
    afterAll(async () => {
      await gateway.close()
      rmSync(home, { recursive: true, force: true })
    })

    function job(given: Pick<Job, 'permission' | 'prompt'> & Partial<Job>): Job {
      const dir = mkdtempSync(join(home, 'host-'))
      const cwd = mkdtempSync(join(home, 'work-'))
      const { token } = gateway.token()
      const usual = { compacts: false, sandboxed: false, mute: false, copies: false, again: false }
      return { name, dir, home, cwd, gateway: { url: gateway.url, token }, ...usual, ...given }
    }

    /** Kills the host, waits until nothing of the agent is left, and lets another host go on. */
    async function goesOn(first: Worker, given: Job): Promise<string> {
      const { session, sessions = session === undefined ? [] : [session] } = first.last
      if (!given.mute) expect(sessions).toHaveLength(1)
      if (first.child.signalCode === null) {
        first.child.kill('SIGKILL')
        await once(first.child, 'exit')
      }
      await untilNone(given.cwd)
      writeFileSync(join(given.cwd, 'go'), '')
      const second = new Worker({ ...given, again: true, mute: false })
      await once(second.child, 'close')
      const named = second.last.sessions ?? []
      // Of a session in which nothing was said, some agents know nothing.
      if (given.mute) expect([1, 2, 3], second.errors).toContain(named.length)
      else if (resumes) expect(named, second.errors).toEqual(sessions)
      else expect(named, second.errors).toHaveLength(2)
      await untilNone(given.cwd)
      const agent = vendor?.adapter.name ?? 'scripted'
      for (const id of new Set([...sessions, ...named])) await forgetSession({ agent, id, cwd: given.cwd })
      return second.last.result?.text ?? second.errors
    }

    it('before anything was said', async () => {
      const given = job({ permission: 'allow', prompt: scriptPrompt({ say: 'all done' }), mute: true })
      const first = new Worker(given)
      await once(first.child, 'close')
      expect(first.child.signalCode).toBe('SIGKILL')
      expect(await goesOn(first, given)).toContain('all done')
    })

    const copying = 'before anything was said to a copy of it'
    const alone = vendor?.adapter.capabilities.fork === false
    it(alone ? `${copying} (skipped: ${name} has no fork)` : copying, { skip: alone }, async () => {
      const prompt = scriptPrompt({ say: name === 'scripted' ? 'seen 2' : `seen ${COUNT}` })
      const given = job({ permission: 'allow', prompt, mute: true, copies: true })
      const first = new Worker(given)
      await once(first.child, 'close')
      expect(first.child.signalCode).toBe('SIGKILL')
      expect(await goesOn(first, given)).toContain('seen 2')
    })

    const title = 'while a tool runs in its sandbox'
    const noSandbox = whyNoSandbox()
    if (noSandbox !== undefined) console.warn(`SKIPPED: ${title}: ${noSandbox}`)
    it.each([['while a tool runs', false] as const, ...(noSandbox === undefined ? [[title, true] as const] : [])])(
      '%s',
      async (_title, sandboxed) => {
        const prompt = scriptPrompt({ call: { sh: TOOL } }, { say: 'all done' })
        const given = job({ permission: 'allow', prompt, sandboxed })
        const first = new Worker(given)
        const isWritten = vendor?.written ?? (() => true)
        await first.until(
          ({ session }) => session !== undefined && existsSync(join(given.cwd, 'began')) && isWritten(home, session),
        )
        expect(await goesOn(first, given)).toContain('all done')
        expect(existsSync(join(given.cwd, 'ended'))).toBe(true)
      },
    )

    it('while a permission is asked for', async () => {
      const prompt = scriptPrompt({ call: { sh: 'printf x >> once.txt' } }, { say: 'all done' })
      const given = job({ permission: 'ask', prompt })
      const first = new Worker(given)
      await first.until(({ asked }) => asked === 1)
      expect(existsSync(join(given.cwd, 'once.txt'))).toBe(false)
      expect(await goesOn(first, given)).toContain('all done')
      expect(readFileSync(join(given.cwd, 'once.txt'), 'utf8')).toBe('x')
    })

    const { compaction: reason } = skip
    const shortens = 'while it shortens what it remembers'
    it(
      reason === undefined ? shortens : `${shortens} (skipped: ${reason})`,
      { skip: reason !== undefined },
      async () => {
        const given = job({ permission: 'allow', prompt: scriptPrompt({ say: 'all done' }), compacts: true })
        hangs = true
        const first = new Worker(given)
        await first.until(({ compacting, session }) => compacting === true && session !== undefined)
        await compaction.promise
        hangs = false
        expect(await goesOn(first, given)).toContain('all done')
      },
    )
  })
}

class Worker {
  readonly child: ChildProcess
  last: Said = {}
  #errors = ''
  #news = Promise.withResolvers<void>()

  constructor(job: Job) {
    this.child = spawn(process.execPath, ['--conditions=nerve-source', WORKER, JSON.stringify(job)], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    onTestFinished(() => void this.child.kill('SIGKILL'))
    this.child.stderr?.on('data', (piece: Buffer) => {
      this.#errors += piece.toString()
    })
    if (this.child.stdout !== null)
      createInterface({ input: this.child.stdout }).on('line', (line) => {
        this.last = { ...this.last, ...(JSON.parse(line) as Said) }
        this.#tell()
      })
    this.child.on('close', () => this.#tell())
  }

  get errors(): string {
    return this.#errors
  }

  async until(condition: (said: Said) => boolean): Promise<void> {
    while (!condition(this.last)) {
      if (this.child.exitCode !== null) throw new Error(`The host has ended: ${this.#errors}`)
      await this.#news.promise
    }
  }

  #tell(): void {
    this.#news.resolve()
    this.#news = Promise.withResolvers()
  }
}

/** What killed processes have left beside a session in the home of the user goes with the next one that works in it. */
export async function forgetSession(session: SessionRef): Promise<void> {
  const letGo = await leaseSession(session, { node: 'test', mark: '0'.repeat(32) })
  letGo()
}

/** Until no process works in the folder, or knows of it: all of an agent and of its tools do, in a sandbox too. */
export async function untilNone(cwd: string, looks = 100): Promise<void> {
  for (let left = looks; ; left -= 1) {
    const found = processesIn(cwd)
    if (found.length === 0) return
    if (left === 0) throw new Error(`Still running: ${found.join(', ')}`)
    await delay(100)
  }
}

function processesIn(cwd: string): readonly string[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      if (!/^\d+$/.test(pid)) return []
      const [line = '', known = ''] = ['cmdline', 'environ'].map((file) => readFileSync(`/proc/${pid}/${file}`, 'utf8'))
      const works = readlinkSync(`/proc/${pid}/cwd`) === cwd || line.includes(cwd) || known.includes(cwd)
      return works ? [`${pid} ${line.replaceAll('\0', ' ')}`] : []
    } catch {
      // It has ended meanwhile.
      return []
    }
  })
}

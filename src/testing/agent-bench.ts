/** Where the cases of the suite for agents are tried: a session that is opened and closed, told what to do, and looked at. */
import { ok, strictEqual } from 'node:assert'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { ScriptStep } from '../gateway/script/script.ts'
import type {
  AgentAdapter,
  AgentOpen,
  AgentPart,
  AgentSession,
  AgentTurnEnd,
  PermissionDecision,
  PermissionRequest,
  QuestionReply,
  QuestionRequest,
} from '../nodes/agents/adapter.ts'
import { MARK_NAME } from '../nodes/process-table.ts'
import { scriptPrompt } from './prompted-script.ts'

export interface AgentUnderTest {
  readonly adapter: AgentAdapter
  /** What the agent needs to reach its scripted model, and a new empty folder to work in. Called for each case. */
  readonly prepare: () => Promise<Pick<AgentOpen, 'cwd' | 'env' | 'gateway' | 'native' | 'model'>>
  /** Cases that this agent cannot do, each with the reason. */
  readonly skip?: Readonly<Record<string, string>>
}

export interface Bench {
  readonly adapter: AgentAdapter
  readonly cwd: string
  /** In the environment of everything that is started. */
  readonly mark: string
  readonly env: AgentOpen['env']
  readonly asked: PermissionRequest[]
  readonly questions: QuestionRequest[]
  /** What is answered to permissions; by default everything is allowed. */
  decide: (request: PermissionRequest) => PermissionDecision | Promise<PermissionDecision>
  /** What is answered to questions. */
  reply: (request: QuestionRequest) => QuestionReply
  open(more?: Partial<AgentOpen>): Promise<AgentSession>
}

type Case = (bench: Bench) => Promise<void>

/** Of a suite: what is tried, and what an agent must be able to do for it. */
export type Cases = Readonly<
  Record<string, { readonly needs?: readonly (keyof AgentAdapter['capabilities'])[]; readonly run: Case }>
>

export async function onBench({ adapter, prepare }: AgentUnderTest, run: Case): Promise<void> {
  const given = await prepare()
  const mark = randomBytes(16).toString('hex')
  const prepared = { ...given, env: { ...given.env, [MARK_NAME]: mark } }
  const opened: AgentSession[] = []
  const bench: Bench = {
    adapter,
    cwd: prepared.cwd,
    mark,
    env: prepared.env,
    asked: [],
    questions: [],
    decide: () => ({ allow: true }),
    reply: () => ({ refused: 'nobody is here' }),
    async open(more = {}) {
      const session = await adapter.open({
        ...prepared,
        permission: async (request) => {
          bench.asked.push(request)
          return bench.decide(request)
        },
        question: async (request) => {
          bench.questions.push(request)
          return bench.reply(request)
        },
        started: () => undefined,
        ...more,
      })
      opened.push(session)
      return session
    },
  }
  try {
    await run(bench)
  } finally {
    for (const session of opened) await session.close()
  }
}

interface Turn {
  readonly parts: readonly AgentPart[]
  readonly end: AgentTurnEnd
}

async function turn(parts: AsyncIterable<AgentPart>, onPart?: (part: AgentPart) => void): Promise<Turn> {
  const seen: AgentPart[] = []
  for await (const part of parts) {
    seen.push(part)
    onPart?.(part)
  }
  const end = seen.at(-1)
  ok(end?.type === 'turn-end', `the last part is ${end?.type ?? 'missing'}, not turn-end`)
  strictEqual(seen.filter(({ type }) => type === 'turn-end').length, 1, 'a turn ends once')
  return { parts: seen, end }
}

export async function says(session: AgentSession, ...steps: readonly ScriptStep[]): Promise<Turn> {
  return turn(session.prompt(scriptPrompt(...steps)))
}

/** Goes on with a turn that was deferred. */
export async function goesOn(session: AgentSession): Promise<Turn> {
  ok(session.proceed !== undefined, 'it has proceed()')
  return turn(session.proceed())
}

export function spent(parts: readonly AgentPart[]): number {
  return parts.reduce(
    (sum, part) => (part.type === 'usage' ? sum + (part.usage.input ?? 0) + (part.usage.output ?? 0) : sum),
    0,
  )
}

export function read(bench: Bench, file: string): string {
  return readFileSync(join(bench.cwd, file), 'utf8')
}

export async function untilThere(bench: Bench, file: string): Promise<void> {
  for (let left = 1_500; !existsSync(join(bench.cwd, file)); left -= 1) {
    if (left === 0) throw new Error(`${file} did not come to be`)
    await delay(20)
  }
}

/** Takes until the file `began` is gone. */
export const SLOW = 'touch began; while [ -e began ]; do sleep 0.1; done'

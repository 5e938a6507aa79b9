/**
 * What every adapter of a coding agent must do, as a list of cases that throw when it does not: run them in any test runner. The
 * agent's model is a scripted one that follows `scriptPrompt`, so the agent is the real one and needs no key.
 */
import { deepStrictEqual, match, ok, rejects, strictEqual } from 'node:assert'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { CONTRACT, type AgentPart } from '../nodes/agents/adapter.ts'
import {
  goesOn,
  onBench,
  read,
  says,
  SLOW,
  spent,
  untilThere,
  type AgentUnderTest,
  type Bench,
  type Cases,
} from './agent-bench.ts'
import { ISOLATION, whyNoSandbox } from './agent-isolation-conformance.ts'
import { COUNT, REPLIES } from './prompted-script.ts'

export interface AgentCase {
  readonly name: string
  /** Why it is not run. */
  readonly skip?: string
  run(): Promise<void>
}

export function agentConformance(agent: AgentUnderTest): readonly AgentCase[] {
  return Object.entries({ ...CASES, ...ISOLATION }).map(([name, { needs, run }]) => {
    const lacks = needs?.find((one) => !agent.adapter.capabilities[one])
    const missing = needs?.includes('sandbox') === true ? whyNoSandbox() : undefined
    const skip = agent.skip?.[name] ?? (lacks === undefined ? missing : `${agent.adapter.name} has no ${lacks}`)
    return { name, ...(skip === undefined ? {} : { skip }), run: () => onBench(agent, run) }
  })
}

const COLOUR = { question: 'Which colour?', options: ['red', 'blue'] }

const CASES: Cases = {
  'says who it is': {
    run: async ({ adapter }) => {
      strictEqual(adapter.contract, CONTRACT)
      const probe = await adapter.probe()
      ok(probe.found, probe.problem)
      ok(probe.version !== undefined && probe.version !== '', 'it has a version')
    },
  },
  'has a session before the first prompt, and answers': {
    run: async (bench) => {
      const session = await bench.open()
      const { agent, id, cwd } = session.ref
      deepStrictEqual([agent, cwd, typeof id], [bench.adapter.name, bench.cwd, 'string'])
      deepStrictEqual(JSON.parse(JSON.stringify(session.ref)), session.ref, 'its reference is plain data')
      const { parts, end } = await says(session, { say: 'hello there' })
      strictEqual(end.reason, 'done', end.error)
      match(end.text, /hello there/)
      match(textOf(parts), /hello there/)
      ok(spent(parts) > 0, 'it says what the turn has spent')
    },
  },
  'takes the id that was chosen': {
    needs: ['chosenId'],
    run: async (bench) => {
      const id = '6f2c1b0a-3d4e-4f5a-8b6c-7d8e9f0a1b2c'
      strictEqual((await bench.open({ id })).ref.id, id)
    },
  },
  'uses two tools in a turn, and asks before': {
    needs: ['permissions'],
    run: async (bench) => {
      const session = await bench.open()
      const { parts, end } = await says(
        session,
        { call: { sh: 'printf one > one.txt' } },
        { call: { sh: 'cat one.txt > two.txt' } },
        { say: 'both done' },
      )
      strictEqual(end.reason, 'done', end.error)
      const tools = parts.filter((part) => part.type === 'tool-end')
      deepStrictEqual(
        tools.map((part) => part.ok),
        [true, true],
        `its tools said ${JSON.stringify(tools)}`,
      )
      deepStrictEqual([read(bench, 'one.txt'), read(bench, 'two.txt')], ['one', 'one'])
      ok(bench.asked.length >= 2, `it asked ${bench.asked.length} times`)
      for (const { id, tool, title } of bench.asked) ok(id !== '' && tool !== '' && title !== '', 'a request is whole')
      strictEqual(parts.filter(({ type }) => type === 'tool-start').length, 2)
    },
  },
  'does not do what is denied, and goes on': {
    needs: ['permissions'],
    run: async (bench) => {
      bench.decide = () => ({ allow: false, reason: 'the moon is full' })
      const session = await bench.open()
      const { end } = await says(session, { call: { sh: 'touch denied.txt' } }, { say: 'as you wish: {{last}}' })
      strictEqual(existsSync(join(bench.cwd, 'denied.txt')), false)
      strictEqual(end.reason, 'done', end.error)
      match(end.text, bench.adapter.capabilities.denyReason ? /the moon is full/ : /as you wish/)
      bench.decide = () => ({ allow: true })
      strictEqual((await says(session, { say: 'still here' })).end.reason, 'done')
    },
  },
  'asks for each of two calls at once, and loses none': {
    needs: ['permissions'],
    run: async (bench) => {
      const allowed = new Set<string>()
      bench.decide = ({ id, lacks = [] }) => {
        // A person decides one at a time, and is thought of first where that can be.
        const waits = bench.adapter.capabilities.defer && !lacks.includes('defer') && !allowed.has(id)
        return waits ? { defer: true } : { allow: true }
      }
      const session = await bench.open()
      const calls = [{ sh: 'printf a >> a.txt' }, { sh: 'printf b >> b.txt' }]
      let { end } = await says(session, { call: calls }, { say: 'both done' })
      for (let left = 3; end.reason === 'deferred' && left > 0; left -= 1) {
        allowed.add(bench.asked.at(-1)?.id ?? '')
        const again = await goesOn(await bench.open({ resume: session.ref }))
        end = again.end
      }
      strictEqual(end.reason, 'done', end.error)
      deepStrictEqual([read(bench, 'a.txt'), read(bench, 'b.txt')], ['a', 'b'])
    },
  },
  'does what a person made of it': {
    needs: ['permissions', 'editedInput'],
    run: async (bench) => {
      bench.decide = ({ input }) => ({ allow: true, input: edited(input) })
      const session = await bench.open()
      const { end } = await says(session, { call: { sh: 'touch before.txt' } }, { say: 'done' })
      strictEqual(end.reason, 'done', end.error)
      deepStrictEqual(there(bench, 'before.txt', 'after.txt'), [false, true])
    },
  },
  'does what a person made of it, after it was put away': {
    needs: ['permissions', 'editedInput', 'defer', 'resume'],
    run: async (bench) => {
      bench.decide = () => ({ defer: true })
      const session = await bench.open()
      await says(session, { call: { sh: 'touch before.txt' } }, { say: 'done' })
      await session.close()
      bench.decide = ({ input }) => ({ allow: true, input: edited(input) })
      const again = await bench.open({ resume: session.ref })
      const { end } = await goesOn(again)
      strictEqual(end.reason, 'done', end.error)
      deepStrictEqual(there(bench, 'before.txt', 'after.txt'), [false, true])
    },
  },
  'asks the person, and goes on with the answer': {
    needs: ['questions'],
    run: async (bench) => {
      bench.reply = () => ({ answers: [['mauve']] })
      const session = await bench.open()
      const { end } = await says(session, { call: { ask: COLOUR } }, { say: 'it will be {{last}}' })
      strictEqual(end.reason, 'done', end.error)
      match(end.text, /it will be .*mauve/s)
      const [asked] = bench.questions
      const [question] = asked?.questions ?? []
      deepStrictEqual([question?.text, question?.options?.map(({ label }) => label)], [COLOUR.question, COLOUR.options])
      strictEqual(question?.free, true, 'other words are taken too')
      bench.reply = () => ({ refused: 'nobody is here' })
      const refused = await says(session, { call: { ask: COLOUR } }, { say: 'so I choose' })
      strictEqual(refused.end.reason, 'done', refused.end.error)
      match(refused.end.text, /so I choose/)
      deepStrictEqual([bench.questions.length, bench.asked.length], [2, 0], 'a question is no permission')
    },
  },
  'is put away while a person thinks about its question': {
    needs: ['questions', 'defer', 'resume'],
    run: async (bench) => {
      bench.reply = () => ({ defer: true })
      const session = await bench.open()
      const deferred = await says(session, { call: { ask: COLOUR } }, { say: 'it will be {{last}}' })
      strictEqual(deferred.end.reason, 'deferred', deferred.end.error)
      await session.close()
      const before = bench.questions.at(-1)?.id
      bench.reply = ({ id }) => (id === before ? { answers: [['mauve']] } : { refused: 'another one' })
      const again = await bench.open({ resume: session.ref })
      const { end } = await goesOn(again)
      strictEqual(end.reason, 'done', end.error)
      match(end.text, /it will be .*mauve/s)
    },
  },
  'is interrupted within a moment, and goes on after it': {
    run: async (bench) => {
      const session = await bench.open()
      const working = says(session, { call: { sh: SLOW } }, { say: 'never said' })
      await untilThere(bench, 'began')
      const began = performance.now()
      await session.interrupt()
      const { end } = await working
      strictEqual(end.reason, 'interrupted', end.error)
      ok(performance.now() - began < 10_000, 'it takes a moment and not a turn')
      const after = await says(session, { say: 'here again' })
      strictEqual(after.end.reason, 'done', after.end.error)
    },
  },
  'remembers what was said, over two prompts': {
    run: async (bench) => {
      const session = await bench.open()
      match((await says(session, { say: `seen ${COUNT}` })).end.text, /seen 1/)
      match((await says(session, { say: `seen ${COUNT}` })).end.text, /seen 2/)
    },
  },
  'says what a turn has spent, and not the sum of all': {
    run: async (bench) => {
      const session = await bench.open()
      const usage = { input: 1_000, output: 100 }
      const first = spent((await says(session, { say: 'a', usage })).parts)
      const second = spent((await says(session, { say: 'b', usage })).parts)
      ok(first >= 1_100 && second >= 1_100 && second < first * 1.9, `first ${first}, second ${second}`)
    },
  },
  'shortens what it remembers': {
    needs: ['compact'],
    run: async (bench) => {
      const session = await bench.open()
      for (let i = 0; i < 3; i += 1) await says(session, { say: 'more to remember' })
      ok(session.compact !== undefined, 'it has compact()')
      await session.compact()
      const { end } = await says(session, { say: `remembers ${REPLIES}` })
      strictEqual(end.reason, 'done', end.error)
      match(end.text, /remembers [012]\b/)
    },
  },
  'is copied with what it knows': {
    needs: ['fork'],
    run: async (bench) => {
      const session = await bench.open()
      await says(session, { say: 'known' })
      const copy = await bench.open({ forkFrom: session.ref })
      ok(copy.ref.id !== session.ref.id, 'a copy is another session')
      match((await says(copy, { say: `seen ${COUNT}` })).end.text, /seen 2/)
      match((await says(session, { say: `seen ${COUNT}` })).end.text, /seen 2/)
    },
  },
  'is resumed with what it knows': {
    needs: ['resume'],
    run: async (bench) => {
      const session = await bench.open()
      await says(session, { say: 'known' })
      const { ref } = session
      await session.close()
      const again = await bench.open({ resume: ref })
      strictEqual(again.ref.id, ref.id)
      match((await says(again, { say: `seen ${COUNT}` })).end.text, /seen 2/)
    },
  },
  'is put away while a person thinks, and goes on where it was': {
    needs: ['defer', 'permissions', 'resume'],
    run: async (bench) => {
      bench.decide = () => ({ defer: true })
      const session = await bench.open()
      const script = [{ call: { sh: 'printf x >> once.txt' } }, { say: 'thought over' }] as const
      const deferred = await says(session, ...script)
      strictEqual(deferred.end.reason, 'deferred', deferred.end.error)
      await session.close()
      strictEqual(existsSync(join(bench.cwd, 'once.txt')), false)
      const before = bench.asked.at(-1)?.id
      bench.decide = ({ id }) => (id === before ? { allow: true } : { allow: false, reason: 'another one' })
      const again = await bench.open({ resume: session.ref })
      const { end } = await goesOn(again)
      strictEqual(end.reason, 'done', end.error)
      match(end.text, /thought over/)
      strictEqual(read(bench, 'once.txt'), 'x')
    },
  },
  'is told something else while a person thinks, and can be put away again': {
    needs: ['defer', 'permissions', 'resume'],
    run: async (bench) => {
      bench.decide = () => ({ defer: true })
      const session = await bench.open()
      await says(session, { call: { sh: 'touch never.txt' } }, { say: 'never said' })
      await session.close()
      const left = bench.asked.at(-1)?.id
      bench.decide = ({ id, lacks = [] }) => {
        if (id === left) return { allow: false, reason: 'nobody wants it any more' }
        return lacks.includes('defer') ? { allow: true } : { defer: true }
      }
      const again = await bench.open({ resume: session.ref })
      const other = await says(again, { say: 'something else' })
      strictEqual(other.end.reason, 'done', other.end.error)
      let { end } = await says(again, { call: { sh: 'printf x >> once.txt' } }, { say: 'all done' })
      if (end.reason === 'deferred') {
        await again.close()
        bench.decide = ({ id }) => (id === left ? { allow: false } : { allow: true })
        ;({ end } = await goesOn(await bench.open({ resume: session.ref })))
      }
      strictEqual(end.reason, 'done', end.error)
      match(end.text, /all done/)
      deepStrictEqual([there(bench, 'never.txt'), read(bench, 'once.txt')], [[false], 'x'])
    },
  },
  'tells of an error of the model, and goes on after it': {
    run: async (bench) => {
      const session = await bench.open()
      const { end } = await says(session, { fail: { status: 400, message: 'the model is confused' } })
      strictEqual(end.reason, 'error', end.error)
      match(end.error ?? '', /confused|400/)
      strictEqual((await says(session, { say: 'better' })).end.reason, 'done')
    },
  },
  'tells that its context is full': {
    run: async (bench) => {
      const session = await bench.open()
      const message = 'prompt is too long: 250000 tokens > 200000 maximum. context_length_exceeded'
      const { end } = await says(session, { fail: { status: 400, message } })
      strictEqual(end.reason, 'context-full', `${end.reason}: ${end.error ?? ''}`)
    },
  },
  'tells that it has asked too often': {
    run: async (bench) => {
      const session = await bench.open()
      // With when to try again, as providers say it: without that, some agents try for a minute before they give up.
      const fail = { status: 429, message: 'rate limit reached, slow down', retryAfter: '0ms' } as const
      const { end } = await says(session, { fail })
      strictEqual(end.reason, 'rate-limited', `${end.reason}: ${end.error ?? ''}`)
    },
  },
  'refuses a session that is not there': {
    needs: ['resume'],
    run: async (bench) => {
      const ref = { agent: bench.adapter.name, id: '00000000-0000-4000-8000-000000000000', cwd: bench.cwd }
      await rejects(async () => {
        const session = await bench.open({ resume: ref })
        const { end } = await says(session, { say: 'who am I?' })
        if (end.reason !== 'done') throw new Error(end.error)
      })
    },
  },
}

function there(bench: Bench, ...files: readonly string[]): readonly boolean[] {
  return files.map((file) => existsSync(join(bench.cwd, file)))
}

function textOf(parts: readonly AgentPart[]): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
}

/** The input of a shell tool, whatever its fields are called, with the other file in it. */
function edited(input: unknown): unknown {
  return JSON.parse(JSON.stringify(input).replaceAll('before.txt', 'after.txt')) as unknown
}

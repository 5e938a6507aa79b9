/** The daemon of a project, as `nerve server start` runs it, with more runs than anybody has, and what it takes for them. */
import { fork, type ChildProcess } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { connect, type Client } from 'nerve/client'
import { compileCache } from '../built.ts'
import { COMMAND } from '../cli/nerve.ts'
import { stage } from './stage.ts'

export interface Memory {
  readonly heapUsed: number
  readonly rss: number
  readonly peak: number
}

export interface LoadedDaemon {
  readonly client: Client
  /** After a collection of garbage. */
  readonly memory: () => Promise<Memory>
  /** What it could not do. */
  readonly problems: () => readonly string[]
  readonly end: () => Promise<void>
}

/** One of everything that a run may leave behind in memory: a question, a signal, a timer, branches, an error. */
const VARIED = `import { workflow } from 'nerve'
export default workflow('varied', async (ctx, n) => {
  await ctx.step('write', () => 'x'.repeat(1_000))
  await ctx.all([() => ctx.step('left', () => n), () => ctx.step('right', () => n)])
  await ctx.sleep('1ms', { label: 'nap' })
  if (n % 10 === 0) await ctx.step('bad', () => Promise.reject(new Error('no luck')))
  if (n % 10 === 1) await ctx.waitFor('go', { label: 'go' })
  if (n % 10 === 2) await ctx.ask('Well?', { label: 'well', choices: ['yes', 'no'] })
  return n
})
`

export async function startLoadedDaemon(): Promise<LoadedDaemon> {
  const here = stage({})
  mkdirSync(join(here.dir, 'workflows'))
  here.write('workflows/varied.ts', VARIED)
  const [, main = ''] = COMMAND
  const child = fork(main, ['server', 'start', '--foreground', '--dir', here.dir], {
    cwd: here.dir,
    execArgv: ['--expose-gc', '--import', join(import.meta.dirname, 'tell-memory.ts')],
    env: {
      ...process.env,
      ...compileCache(),
      NERVE_LOCAL: '',
      NERVE_TRUST: '1',
      XDG_STATE_HOME: join(here.dir, '.state'),
    },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text))
  const { record } = await nextMessage<{ record: { socket: string } }>(child, () => said)
  const client = await connect(record.socket)
  return {
    client,
    memory: () => {
      const told = nextMessage<Memory>(child, () => said)
      child.send('memory')
      return told
    },
    problems: () => said.split('\n').filter((line) => line.includes('problem')),
    end: async () => {
      await client.close()
      await here.kill('SIGTERM')
      here.remove()
    },
  }
}

function nextMessage<Message>(child: ChildProcess, said: () => string): Promise<Message> {
  const { promise, resolve, reject } = Promise.withResolvers<Message>()
  const gone = (code: number | null): void => reject(new Error(`the daemon ended with ${code}: ${said()}`))
  child.once('exit', gone)
  child.once('message', (message) => {
    child.off('exit', gone)
    resolve(message as Message)
  })
  return promise
}

/** Drives runs to their ends, some of which fail, wait for a signal or ask, so many at once. */
export async function finishRuns({ client }: LoadedDaemon, count: number, atOnce = 50): Promise<void> {
  let next = 0
  const drive = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) {
      const run = await client.runs.start('varied', n)
      if (n % 10 === 1) await run.signal('go', n)
      if (n % 10 === 2) {
        const asked = async (): Promise<string | undefined> => (await run.get()).questions[0]?.id
        await expect.poll(asked, { interval: 5, timeout: 10_000 }).toBeDefined()
        await client.questions.answer((await asked()) ?? '', 'yes')
      }
      const { status, ended } = await run.wait()
      expect({ n, status, ended }).toEqual({ n, status: n % 10 === 0 ? 'failed' : 'completed', ended: true })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, drive))
}

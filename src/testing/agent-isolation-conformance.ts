/** What must hold of an agent and the machine around it: what it gets, what it reaches, and what happens when its process dies. */
import { doesNotMatch, match, ok, strictEqual } from 'node:assert'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { enterAgentSandbox } from '../nodes/agents/agent-sandbox.ts'
import { listProcesses } from '../nodes/process-table.ts'
import { bwrapArguments } from '../nodes/sandbox.ts'
import { read, says, SLOW, untilThere, type Cases } from './agent-bench.ts'
import { COUNT } from './prompted-script.ts'

let noSandbox: { readonly why: string | undefined } | undefined

/** Why no sandbox can be made here; undefined when one can. */
export function whyNoSandbox(): string | undefined {
  noSandbox ??= (() => {
    try {
      execFileSync('bwrap', bwrapArguments({ cwd: '/', mounts: [], network: false }).concat('true'), { stdio: 'pipe' })
      return { why: undefined }
    } catch (error) {
      return { why: `no sandbox can be made here: ${(error as Error).message.split('\n').join(' ')}` }
    }
  })()
  return noSandbox.why
}

const SECRET_NAME = 'NERVE_CONFORMANCE_SECRET_TOKEN'
const SECRET = 'not-for-agents-9137'
const SECRETS = /NERVE_CONFORMANCE_SECRET_TOKEN|not-for-agents-9137/

/** With those before it, it may have gone already. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** What the system tells of a process. Empty where it cannot be seen. */
function lookedUp(pid: number, what: 'cmdline' | 'environ'): string {
  try {
    return readFileSync(`/proc/${pid}/${what}`, 'latin1')
  } catch {
    return ''
  }
}

export const ISOLATION: Cases = {
  'gives its commands nothing of the host but what they were given': {
    run: async (bench) => {
      process.env[SECRET_NAME] = SECRET
      try {
        const session = await bench.open()
        const working = says(session, { call: { sh: `env > env.txt; ${SLOW}` } }, { say: 'done' })
        await untilThere(bench, 'began')
        const started = await listProcesses(bench.mark)
        for (const { pid } of started.filter(({ marked }) => marked)) doesNotMatch(lookedUp(pid, 'environ'), SECRETS)
        rmSync(join(bench.cwd, 'began'))
        const { end } = await working
        strictEqual(end.reason, 'done', end.error)
        doesNotMatch(read(bench, 'env.txt'), SECRETS)
        match(read(bench, 'env.txt'), new RegExp(bench.mark), 'what it starts can be found by its mark')
      } finally {
        delete process.env[SECRET_NAME]
      }
    },
  },
  'shows nobody what its MCP servers are given': {
    run: async (bench) => {
      const mine = { command: '/bin/sh', args: ['-c', `env > ${join(bench.cwd, 'mcp.txt')}`], env: { GIVEN: SECRET } }
      const session = await bench.open({ mcpServers: { mine } })
      const working = says(session, { call: { sh: SLOW } }, { say: 'done' })
      await untilThere(bench, 'began')
      const started = (await listProcesses(bench.mark)).filter(({ marked }) => marked)
      for (const { pid } of started) doesNotMatch(lookedUp(pid, 'cmdline'), SECRETS, 'it is on a command line')
      rmSync(join(bench.cwd, 'began'))
      const { end } = await working
      strictEqual(end.reason, 'done', end.error)
      // Some agents have no MCP servers.
      if (existsSync(join(bench.cwd, 'mcp.txt'))) match(read(bench, 'mcp.txt'), SECRETS)
    },
  },
  'works in its sandbox, and reaches nothing else': {
    needs: ['sandbox'],
    run: async (bench) => {
      const outside = mkdtempSync(join(dirname(bench.cwd), 'outside-'))
      const secret = join(outside, 'secret')
      writeFileSync(secret, SECRET)
      const wrap = await enterAgentSandbox(bench.adapter, { level: 'bwrap', hidden: [outside] }, bench)
      ok(wrap !== undefined, 'there is a sandbox')
      const session = await bench.open({ wrap })
      const sh = `printf in > in.txt; printf x > ../out.txt; cat ${secret} > got.txt; printf x > ${secret}; cat /proc/*/environ > all.txt; true`
      const { end } = await says(session, { call: { sh } }, { say: 'done' })
      strictEqual(end.reason, 'done', end.error)
      strictEqual(read(bench, 'in.txt'), 'in', 'it works where it may')
      strictEqual(existsSync(join(bench.cwd, '..', 'out.txt')), false, 'it wrote outside')
      doesNotMatch(read(bench, 'got.txt') + read(bench, 'all.txt'), SECRETS, 'it saw a secret')
      strictEqual(readFileSync(secret, 'utf8'), SECRET)
      await session.close()
      if (!bench.adapter.capabilities.resume) return
      const again = await bench.open({ wrap, resume: session.ref })
      match((await says(again, { say: `seen ${COUNT}` })).end.text, /seen 2/, 'its sessions are kept')
    },
  },
  'tells that its process has died, and is opened again': {
    needs: ['resume'],
    run: async (bench) => {
      const session = await bench.open()
      await says(session, { say: 'known' })
      const working = says(session, { call: { sh: SLOW } }, { say: 'the command has died' })
      await untilThere(bench, 'began')
      for (const { pid, marked } of await listProcesses(bench.mark)) if (marked) kill(pid)
      // An agent without a process of its own goes on.
      const { end } = await working
      ok(end.reason === 'error' || session.ended === undefined, `its turn ends: ${end.reason}`)
      rmSync(join(bench.cwd, 'began'), { force: true })
      const again = session.ended === true ? await bench.open({ resume: session.ref }) : session
      const after = await says(again, { say: 'here again' })
      strictEqual(after.end.reason, 'done', after.end.error)
    },
  },
}

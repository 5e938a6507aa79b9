/** `nerve mcp`: the project as an MCP server. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { milliseconds } from '../../../base/duration.ts'
import type { Scope } from '../../../host/contract/scopes.ts'
import { createHost } from '../../../host/api.ts'
import { isTrusted } from '../../../host/node-api.ts'
import type { Client } from '../../client/client.ts'
import { serveMcp } from '../../mcp/mcp-stdio.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { me, projectConfig } from '../project.ts'
import { WORKFLOWS } from '../project-folder.ts'
import { serviceClient } from '../project-service.ts'
import { trustProject } from '../trust-project.ts'
import { untilSignal } from '../until-signal.ts'
import { exposed } from '../values.ts'
import { version } from '../version.ts'

export async function run(invocation: Invocation): Promise<number> {
  const { args, out } = invocation
  const scope: Scope = args.flag('read-only') ? 'read' : 'control'
  const workflows = exposed(args.texts('expose'), 'nerve mcp')
  const wait = waitOf(args.text('wait'))
  const output = takeStdout()
  const onProblem = (error: unknown): void => out.error(error)
  const watching = untilSignal()
  const client = await clientFor(invocation, scope)
  tellOfUntrusted(invocation.dir)
  try {
    await serveMcp(client, {
      scope,
      workflows,
      wait,
      input: process.stdin,
      output,
      signal: watching.signal,
      onProblem,
      version: version(),
    })
  } finally {
    watching.release()
    await client.close()
  }
  return EXIT.done
}

/** A client that starts this has nobody to ask, and shows fewer tools than somebody may look for. */
function tellOfUntrusted(dir: string): void {
  if (isTrusted(dir) || !existsSync(join(dir, WORKFLOWS))) return
  process.stderr.write(
    'nerve: Files in the folder workflows are not loaded, and are no tools: nobody has trusted this project yet. To have them: nerve trust\n',
  )
}

/** What a host waits for a run in one call. */
const MOST_WAIT_MS = 600_000

function waitOf(text: string | undefined): number | undefined {
  const wait = text === undefined ? undefined : milliseconds(text, '--wait')
  if (wait === undefined || wait <= MOST_WAIT_MS) return wait
  throw new UsageError(
    `nerve mcp: --wait is ${text}, and a call waits for 10m at most: runs go on, and runs_wait goes on waiting.`,
  )
}

/** The protocol has stdout for itself: whatever else is printed in this process goes to stderr. */
function takeStdout(): Writable {
  const { stdout, stderr } = process
  // With --json it was redirected already.
  Reflect.deleteProperty(stdout, 'write')
  const write = stdout.write.bind(stdout)
  stdout.write = stderr.write.bind(stderr)
  const output = new Writable({
    decodeStrings: false,
    write: (text: string, _encoding, done) => void write(text, done),
  })
  stdout.once('error', (error: Error) => output.destroy(error))
  return output
}

/** A client of the daemon, which is started if none runs: runs that a model starts outlive its client. */
async function clientFor(invocation: Invocation, scope: Scope): Promise<Client> {
  const { out, dir } = invocation
  const { isLocal, daemonClient } = await import('../project-daemon.ts')
  return isLocal() ? hostHere(invocation, scope) : daemonClient(dir, out, 'mcp')
}

/** A client of a host in this process, with what the project file says. */
async function hostHere({ out, dir }: Invocation, scope: Scope): Promise<Client> {
  await trustProject(dir, out)
  const config = await projectConfig(dir, out)
  const { definitions = [], sessions = [] } = config ?? {}
  const onProblem = (error: unknown): void => out.error(error)
  const host = await createHost({ dir, definitions, sessions, onProblem })
  return serviceClient({ host, config, dir, onProblem }, { ...me(), via: 'mcp', scope, local: true })
}

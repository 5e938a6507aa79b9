/**
 * The contract kept by a host: checks who asks, checks what is asked, and does it. Every transport goes through here, so
 * that they cannot differ. It knows nothing of sockets.
 */
import { FewAtOnce } from '../../base/few-at-once.ts'
import { NerveError } from '../../base/nerve-error.ts'
import { nearest } from '../../base/nearest.ts'
import { parseWith, type Schema } from '../../base/schema.ts'
import type { Actor, Budget } from '../../journal/events.ts'
import { OPEN } from '../../projections/runs.ts'
import type { Host } from '../host.ts'
import { createSessionManager, type SessionManager } from '../sessions/session-manager.ts'
import type { SessionPlan } from '../sessions/session.ts'
import { given, type Asked, type Calls, type Feeds } from './calls.ts'
import { contract, isFeed, isName, type Checked, type Name } from './contract.ts'
import { auditCalls } from './audit-calls.ts'
import { definitionCalls } from './definition-calls.ts'
import type { AnyEntry } from './entry.ts'
import { eventFeed } from './event-feed.ts'
import { KnownDefinitions } from './known-definitions.ts'
import { nodeCalls, nodeFeeds } from './node-calls.ts'
import { Places } from './places.ts'
import { ProjectFeed, type Delivered } from './project-feed.ts'
import { runCalls, startRun } from './run-calls.ts'
import { SCOPES, type Scope } from './scopes.ts'
import { answerAfar, itemAfar } from './seen-afar.ts'
import { Specs } from './specs.ts'
import { startedFeed } from './started-feed.ts'

/** Somebody who asks, as the transport knows them. */
export interface Caller extends Actor {
  readonly scope: Scope
  /** In this process, or through a socket that only the user can open. */
  readonly local: boolean
}

export interface ServiceOptions {
  /** Shown by `health`. */
  readonly version?: string
  /** The sessions of the host (default: a manager of its own, whose nodes start when they are first used). */
  readonly sessions?: SessionManager
  /** Files in this folder can be started by the names of what they export. */
  readonly folder?: string
  /** Whether they may be loaded at the moment (default: always). Nobody names the files of a folder. */
  readonly mayLoad?: () => boolean
  /** What runs may spend, below what their definitions and their starts say. */
  readonly budget?: Budget
  /** What the project file says about sessions, and about fields of new nodes. */
  readonly plans?: readonly SessionPlan[]
  readonly fields?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** Called for `shutdown`, after its caller has been told. Without it, nobody can stop the host from outside. */
  readonly onShutdown?: (by: Actor) => void
  readonly onProblem?: (error: unknown) => void
}

export interface Service {
  /** A command or a query. */
  call(name: string, input: unknown, caller: Caller, signal?: AbortSignal): Promise<unknown>
  /** Opens a feed: it resolves when what was asked for is there. */
  feed(name: string, input: unknown, caller: Caller, signal: AbortSignal): Promise<AsyncIterable<Delivered>>
}

export function createService(host: Host, options: ServiceOptions = {}): Service {
  const onProblem = options.onProblem ?? ((error: unknown) => process.emitWarning(error as Error))
  const { plans = [], fields = {} } = options
  const sessions = options.sessions ?? createSessionManager(host, { plans, lazy: true, onProblem })
  const all = new ProjectFeed(host, onProblem)
  const specs = new Specs(host, onProblem)
  const known = new KnownDefinitions(host, specs, {
    ...{ folder: options.folder, mayLoad: options.mayLoad, budget: options.budget, onProblem },
  })
  const nodes = { sessions, plans, fields }
  const calls: Calls = {
    ...runCalls(host, known),
    ...definitionCalls(host, { specs, known, places: new Places(host, nodes) }),
    ...nodeCalls(host, nodes),
    ...auditCalls(host),
    ...hostCalls(host, options),
  }
  const feeds: Feeds = {
    ...nodeFeeds(host, nodes),
    events: (wanted, asked) => eventFeed(host, all, wanted, asked),
    'runs.stream': (wanted, asked) =>
      startedFeed(host, () => startRun(host, known, { ...wanted, ...asked.actor }), asked),
  }
  const askedBy = asker()
  return {
    async call(name, input, caller, signal = new AbortController().signal) {
      const known = nameOf(name)
      if (isFeed(known)) throw wrongKind(name, 'is a feed: subscribe to it')
      const checked = await admitted(known, input, caller)
      const handler = calls[known] as (input: unknown, asked: Asked) => unknown
      const output = await handler(checked, askedBy(caller, signal))
      return caller.local ? output : answerAfar(known, output)
    },
    async feed(name, input, caller, signal) {
      const known = nameOf(name)
      if (!isFeed(known)) throw wrongKind(name, 'is not a feed: call it')
      const checked = await admitted(known, input, caller)
      const handler = feeds[known] as (input: unknown, asked: Asked) => Promise<AsyncIterable<Delivered>>
      return handler(checked, askedBy(caller, signal))
    },
  }
}

function hostCalls(
  host: Host,
  { version, onShutdown }: ServiceOptions,
): Calls<'gateway.status' | 'health' | 'shutdown'> {
  const started = Date.now()
  return {
    'gateway.status': async () => {
      if (host.dir === undefined) return []
      const { gatewayStatus } = await import('../gateway-api.ts')
      return [...(await gatewayStatus(host.dir))]
    },
    health: async () => {
      const open = await host.runs({ status: OPEN })
      const questions = (await host.inbox()).length
      const { id, dir } = host
      return {
        ok: true,
        version,
        host: id,
        started,
        ...(dir === undefined ? {} : { dir }),
        open: open.length,
        questions,
      }
    },
    shutdown: (_input, { actor }) => {
      if (onShutdown === undefined)
        throw new NerveError(
          'not-allowed',
          'This host is not to be stopped from outside: end the program that made it.',
          { data: { reason: 'shutdown' } },
        )
      // Watchers hear why their feeds end; the answer goes out before anything closes.
      host.emit('', 'host-stopping', actor)
      setImmediate(onShutdown, actor)
      return { ok: true }
    },
  }
}

function nameOf(text: string): Name {
  if (isName(text)) return text
  const meant = nearest(text, Object.keys(contract))
  throw new NerveError(
    'not-found',
    `There is no command ${JSON.stringify(text.slice(0, 80))}.${meant === undefined ? '' : ` Did you mean '${meant}'?`}`,
  )
}

function wrongKind(name: string, how: string): NerveError {
  return new NerveError('bad-input', `${name} ${how}.`)
}

/** The input as its schema gives it back, for a caller who may ask. */
async function admitted<One extends Name>(name: One, input: unknown, caller: Caller): Promise<Checked<One>> {
  const { scope, input: schema, ...more }: AnyEntry = contract[name]
  if (SCOPES.indexOf(caller.scope) < SCOPES.indexOf(scope))
    throw new NerveError('not-allowed', `${name} needs the scope '${scope}', and this token has '${caller.scope}'.`, {
      data: { reason: 'scope', scope },
    })
  const near = more.local === true ? name : more.localFields?.find((field) => isGiven(input, field))
  if (near !== undefined && !caller.local)
    throw new NerveError('not-allowed', `${near} is only for callers on this machine: use the unix socket.`, {
      data: { reason: 'local' },
    })
  return parseWith(schema as unknown as Schema<Checked<One>>, input ?? {}, {
    code: 'bad-input',
    what: `The input of ${name}`,
  })
}

function isGiven(input: unknown, field: string): boolean {
  return typeof input === 'object' && input !== null && (input as Record<string, unknown>)[field] !== undefined
}

const MOST_READS = 4

/** Neighbours do not wait for what others read. */
function asker(): (caller: Caller, signal: AbortSignal) => Asked {
  const [near, far] = [new FewAtOnce(MOST_READS), new FewAtOnce(MOST_READS)]
  return ({ by, via, scope, local }, signal) => {
    const read: Asked['read'] = (work) => (local ? near : far).take(work)
    const see: Asked['see'] = local ? (item) => item : itemAfar
    return { actor: given({ by, via }), signal, onlyLooks: scope !== 'control', read, see }
  }
}

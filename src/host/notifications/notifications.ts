/**
 * Tells people outside of Nerve what needs them: questions, ends, failures, spent budgets. It reads the feed of all runs like
 * any client. Each receiver (a webhook, the desktop) reads for itself and keeps its own place, so that one that is slow or
 * down holds up nobody, and nothing piles up in memory: what it has not read is in the journals.
 *
 * Invariant: a place is written after everything before it was delivered or given up. So a process that is killed loses
 * nothing, and sends again at most what was on its way, under the same id.
 */
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { NerveError, isNerveError } from '../../base/nerve-error.ts'
import { createRedactor, type Redactor } from '../../base/redact.ts'
import { contentHash } from '../../base/value.ts'
import type { RunEvent } from '../../engine/bus.ts'
import { isLive, type FeedItem } from '../../engine/feed.ts'
import type { RunRow } from '../../projections/runs.ts'
import { after } from '../contract/place.ts'
import type { Caller, Service } from '../contract/service.ts'
import { Cursors } from './cursors.ts'
import { findDesktop } from './desktop.ts'
import { NOTIFY_KINDS, kindOf, notificationOf, type Notification, type NotifyKind } from './notification.ts'
import { BACKOFF_MS, sendWebhook, type DeliveryEnd } from './send-webhook.ts'
import type { NotifySettings, WebhookSettings } from './settings.ts'

export interface NotificationOptions {
  readonly service: Service
  /** The project folder. */
  readonly dir: string
  readonly settings: NotifySettings
  readonly onProblem: (error: unknown) => void
  /** Sent as `user-agent: nerve/VERSION`. */
  readonly version?: string
  /** Where secrets, the display and programs are found (default: of this process). */
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly platform?: NodeJS.Platform
  /** How long is waited before each further try of a webhook, in ms. */
  readonly backoff?: readonly number[]
}

export interface Notifications {
  /** Resolves when everything that happens from now on will be told. */
  readonly ready: Promise<void>
  /** Begins nothing more. What is on its way has a moment to arrive; what does not is sent again by the next start. */
  stop(): Promise<void>
}

const CALLER: Caller = { scope: 'read', local: true, via: 'notifications' }
const AGAIN_MS = 5_000
/** How long a stop waits for what is on its way. */
const ARRIVE_MS = 2_000
/** On a desktop, what ended longer ago than this is no news. A question that is open still is. */
const STALE_MS = 3_600_000
const MOST_TEXT = 2_000

export function startNotifications(options: NotificationOptions): Notifications {
  const { service, dir, settings, onProblem } = options
  const over = new AbortController()
  const late = new AbortController()
  const receivers = [...webhookReceivers(options), ...desktopReceiver(options)]
  // What a webhook has not got while its secret was missing, it gets when the secret is there.
  const known = [...(settings.webhooks ?? []).map(webhookKey), ...receivers.map(({ key }) => key)]
  const cursors = new Cursors(join(dir, '.nerve', 'notified.json'), known, onProblem)
  const parts = {
    service,
    cursors,
    onProblem,
    project: basename(dir),
    redactor: redactorFor(options),
    signal: over.signal,
    late: late.signal,
  }
  const lanes = receivers.map((receiver) => {
    const { promise: ready, resolve: placed } = Promise.withResolvers<void>()
    return { ready, ended: follow(receiver, { ...parts, placed }).finally(placed) }
  })
  return {
    ready: Promise.all(lanes.map(({ ready }) => ready)).then(() => undefined),
    stop: async () => {
      over.abort()
      const timer = setTimeout(() => late.abort(), ARRIVE_MS)
      await Promise.all(lanes.map(({ ended }) => ended))
      clearTimeout(timer)
      try {
        cursors.write()
      } catch (error) {
        onProblem(error)
      }
    },
  }
}

interface Receiver {
  readonly key: string
  readonly wants: (kind: NotifyKind) => boolean
  /** Rejects when it was given up, and when it was not done before its end. */
  readonly deliver: (notification: Notification, end: DeliveryEnd) => Promise<void>
}

function webhookReceivers(options: NotificationOptions): Receiver[] {
  const { settings, onProblem, version = '0', env = process.env, backoff = BACKOFF_MS } = options
  return (settings.webhooks ?? []).flatMap((webhook): Receiver[] => {
    const { url, secretEnv, on = NOTIFY_KINDS } = webhook
    const secret = env[secretEnv]
    if (secret === undefined || secret === '') {
      onProblem(missingSecret(webhook))
      return []
    }
    const to = { url, secret, userAgent: `nerve/${version}`, backoff }
    return [
      {
        key: webhookKey(webhook),
        wants: (kind) => on.includes(kind),
        deliver: (notification, end) => sendWebhook(to, notification, end),
      },
    ]
  })
}

function desktopReceiver(options: NotificationOptions): Receiver[] {
  const { settings, onProblem, env = process.env, platform = process.platform } = options
  if (settings.desktop !== true) return []
  const found = findDesktop(platform, env)
  if ('missing' in found) {
    onProblem(new NerveError('not-ready', `There are no notifications on the desktop here: ${found.missing}.`))
    return []
  }
  return [
    {
      key: 'desktop',
      wants: () => true,
      deliver: async (notification, { late }) => {
        if (notification.type !== 'question' && Date.now() - notification.time > STALE_MS) return
        await found.show(notification, late)
      },
    },
  ]
}

/** Addresses may have secrets in them. */
function webhookKey({ url }: WebhookSettings): string {
  return `webhook-${contentHash(url).slice(0, 16)}`
}

function missingSecret({ url, secretEnv }: WebhookSettings): NerveError {
  return new NerveError(
    'not-ready',
    `The webhook at ${new URL(url).origin} gets nothing: the environment variable ${secretEnv}, which has its secret, is not set. ` +
      'Set it and start again; what happened meanwhile is sent then.',
    { data: { variable: secretEnv } },
  )
}

/** Also the secrets of webhooks, whatever their variables are called. */
function redactorFor({ settings, env = process.env }: NotificationOptions): Redactor {
  const secrets = (settings.webhooks ?? []).map(
    ({ secretEnv }, at) => [`WEBHOOK_${at}_SECRET`, env[secretEnv]] as const,
  )
  return createRedactor({ env: { ...env, ...Object.fromEntries(secrets) }, longest: MOST_TEXT })
}

interface Parts extends DeliveryEnd {
  readonly service: Service
  readonly cursors: Cursors
  readonly onProblem: (error: unknown) => void
  readonly project: string
  readonly redactor: Redactor
  /** Called when it is known where the receiver goes on. */
  readonly placed: () => void
}

/** Reads on until it is stopped, whatever goes wrong. */
async function follow(receiver: Receiver, parts: Parts): Promise<void> {
  const { signal, cursors, onProblem } = parts
  while (!signal.aborted) {
    try {
      await read(receiver, parts)
    } catch (error) {
      if (signal.aborted) return
      onProblem(error)
      // Somebody changed the file: a place that cannot be read now never can.
      if (isNerveError(error, 'bad-input')) cursors.forget(receiver.key)
      await delay(AGAIN_MS, undefined, { signal }).catch(() => undefined)
    }
  }
}

async function read(receiver: Receiver, parts: Parts): Promise<void> {
  const { service, cursors, signal, placed } = parts
  let place = cursors.get(receiver.key)
  const items = await service.feed('events', place === undefined ? {} : { after: place }, CALLER, signal)
  for await (const { item, cursor } of items) {
    const notification = item === undefined ? undefined : await wanted(item, receiver, parts)
    if (notification !== undefined && !(await delivered(receiver, notification, parts))) return
    // When many runs move at once, most events come without a cursor: they are added to the last one.
    place = cursor ?? (place === undefined || item === undefined || isLive(item) ? place : after(place, item))
    if (place !== undefined) {
      cursors.reach(receiver.key, place, notification !== undefined)
      placed()
    }
    if (signal.aborted) return
  }
}

async function wanted(item: FeedItem, { wants }: Receiver, parts: Parts): Promise<Notification | undefined> {
  const kind = kindOf(item)
  if (isLive(item) || kind === undefined || !wants(kind)) return undefined
  const row = await rowOf(item, parts)
  return row === undefined ? undefined : notificationOf(item, row, parts)
}

async function rowOf({ run }: RunEvent, { service, signal }: Parts): Promise<RunRow | undefined> {
  try {
    return (await service.call('runs.get', { run }, CALLER, signal)) as RunRow
  } catch (error) {
    // It was removed since.
    if (isNerveError(error, 'not-found')) return undefined
    throw error
  }
}

/** False when it was stopped before it was either taken or given up. */
async function delivered({ deliver }: Receiver, notification: Notification, parts: Parts): Promise<boolean> {
  try {
    await deliver(notification, parts)
  } catch (error) {
    if (parts.late.aborted || isAbort(error)) return false
    parts.onProblem(error)
  }
  return true
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}

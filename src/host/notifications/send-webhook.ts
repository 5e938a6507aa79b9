/** Sends one notification to one webhook: signed, tried again where that may help, and given up after some minutes. */
import { setTimeout as delay } from 'node:timers/promises'
import { NerveError } from '../../base/nerve-error.ts'
import type { Notification } from './notification.ts'
import { webhookSignature } from './webhook-signature.ts'

const TIMEOUT_MS = 10_000
/** How long is waited before each further try. */
export const BACKOFF_MS: readonly number[] = [1_000, 5_000, 30_000, 120_000, 300_000]
const LONGEST_WAIT_MS = 300_000

export interface Webhook {
  readonly url: string
  readonly secret: string
  readonly userAgent: string
  readonly backoff: readonly number[]
}

/** When a delivery is ended from outside. */
export interface DeliveryEnd {
  /** No further try is begun. */
  readonly signal: AbortSignal
  /** What is on its way is ended too. */
  readonly late: AbortSignal
}

/** Resolves when it was taken. Rejects when it was refused, or never taken, and with an AbortError when it was ended. */
export async function sendWebhook(webhook: Webhook, notification: Notification, end: DeliveryEnd): Promise<void> {
  const body = JSON.stringify(notification)
  for (let tries = 1; ; tries += 1) {
    const answer = await post(webhook, { id: notification.id, body }, end.late)
    if (answer === 'taken') return
    const wait = webhook.backoff[tries - 1]
    if (!answer.mayHelpLater || wait === undefined) throw givenUp(webhook, notification, { ...answer, tries })
    await delay(Math.max(wait, answer.waitMs), undefined, { signal: end.signal })
  }
}

interface Refusal {
  readonly why: string
  readonly mayHelpLater: boolean
  /** What the receiver asked for. */
  readonly waitMs: number
}

async function post(
  { url, secret, userAgent }: Webhook,
  { id, body }: { readonly id: string; readonly body: string },
  signal: AbortSignal,
): Promise<'taken' | Refusal> {
  // Signed anew for each try: a receiver refuses what is old.
  const timestamp = String(Math.floor(Date.now() / 1_000))
  const headers = {
    'content-type': 'application/json',
    'user-agent': userAgent,
    'nerve-id': id,
    'nerve-timestamp': timestamp,
    'nerve-signature': webhookSignature(secret, timestamp, body),
  }
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      // Somewhere else is not where it was meant to go.
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    const { ok, status } = response
    const waitMs = askedToWait(response.headers.get('retry-after'))
    // What it says is not read: however much that is.
    await response.body?.cancel()
    if (ok) return 'taken'
    return { why: `it answered ${status}`, mayHelpLater: status >= 500 || status === 429, waitMs }
  } catch (error) {
    signal.throwIfAborted()
    return { why: reasonOf(error), mayHelpLater: true, waitMs: 0 }
  }
}

/** Seconds; dates are left alone. */
function askedToWait(retryAfter: string | null): number {
  return /^\d{1,6}$/.test(retryAfter ?? '') ? Math.min(Number(retryAfter) * 1_000, LONGEST_WAIT_MS) : 0
}

/** `fetch` says only that it failed; why is in the cause. */
function reasonOf(error: unknown): string {
  const { cause, message, name } = error as Error & { cause?: { code?: unknown; message?: unknown } }
  if (name === 'TimeoutError') return `it did not answer within ${TIMEOUT_MS / 1_000} s`
  const said = cause?.message ?? cause?.code
  return typeof said === 'string' && said !== '' ? said : message
}

function givenUp(
  { url }: Webhook,
  { id, type, definition }: Notification,
  { why, mayHelpLater, tries }: Refusal & { readonly tries: number },
): NerveError {
  const times = tries === 1 ? '' : ` after ${tries} tries`
  // The path of an address is often a secret.
  return new NerveError(
    'http-failed',
    `The webhook at ${new URL(url).origin} did not take the notification ${id} (${type} of '${definition}')${times}: ${why}. ` +
      `It is not sent again. ${mayHelpLater ? 'See whether the receiver is up.' : 'See whether the address and the secret are right.'}`,
    { data: { id, webhook: new URL(url).origin } },
  )
}

/**
 * How a receiver knows that a webhook came from who has the secret, and not long ago: an HMAC of when it was sent and of
 * exactly what was sent.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

const VERSION = 'v1'
const WINDOW_MS = 5 * 60_000

export interface WebhookToVerify {
  readonly secret: string
  /** Of the request: those of Node, a plain object, or `Headers`. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /** Exactly as it came. A body that was parsed and written again has another signature. */
  readonly body: string | Uint8Array
  /** In milliseconds since the epoch (default: now). */
  readonly now?: number
}

/** The value of the header `nerve-signature`. `timestamp` is in seconds since the epoch. */
export function webhookSignature(secret: string, timestamp: string, body: string | Uint8Array): string {
  return `${VERSION}=${createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')}`
}

/**
 * True when a request was signed with this secret within the last five minutes.
 *
 * ```ts
 * import { verifyWebhook } from 'nerve/server'
 *
 * const isOurs = verifyWebhook({ secret: 'known to both', headers: {}, body: '{}' })
 * console.log(isOurs) // => false
 * ```
 */
export function verifyWebhook({ secret, headers, body, now = Date.now() }: WebhookToVerify): boolean {
  const timestamp = headerOf(headers, 'nerve-timestamp')
  // Without a secret anybody could sign.
  if (secret === '' || !/^\d{1,12}$/.test(timestamp)) return false
  const wanted = Buffer.from(webhookSignature(secret, timestamp, body))
  const given = Buffer.from(headerOf(headers, 'nerve-signature'))
  const isSigned = given.length === wanted.length && timingSafeEqual(given, wanted)
  return isSigned && Math.abs(now - Number(timestamp) * 1_000) <= WINDOW_MS
}

function headerOf(headers: WebhookToVerify['headers'], name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? ''
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  return typeof found === 'string' ? found : ''
}

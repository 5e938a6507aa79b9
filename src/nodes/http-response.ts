/** Reading what a server answered: never more than is allowed, and as what it says it is. */
import { NerveError } from '../base/nerve-error.ts'

export type ParseAs = 'auto' | 'json' | 'text' | 'bytes'

export interface Reading {
  readonly maxBytes: number
  readonly parse: ParseAs
  /** For messages: where it came from, without anything that could be a secret. */
  readonly from: string
}

/** The bytes of the body, unpacked. The limit is kept while they come, so that a small file cannot become a huge one. */
export async function readBody(response: Response, { maxBytes, from }: Reading): Promise<Uint8Array<ArrayBuffer>> {
  const told = Number(response.headers.get('content-length') ?? 0)
  if (told > maxBytes) {
    await response.body?.cancel()
    throw tooLarge(from, maxBytes)
  }
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length
    // Leaving the loop cancels the rest of it.
    if (size > maxBytes) throw tooLarge(from, maxBytes)
    chunks.push(chunk)
  }
  const whole = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}

export function parseBody(bytes: Uint8Array<ArrayBuffer>, type: string, { parse, from }: Reading): unknown {
  if (parse === 'bytes') return bytes
  const text = decoderFor(type).decode(bytes)
  if (parse === 'text' || (parse === 'auto' && !isJson(type))) return text
  if (text.trim() === '') return null
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new NerveError('http-failed', `${from} did not answer with JSON: ${(cause as Error).message}.`, {
      cause,
      retry: 'later',
      data: { reason: 'json' },
    })
  }
}

function isJson(type: string): boolean {
  return /^[^;]*[/+]json\s*(;|$)/i.test(type)
}

function decoderFor(type: string): InstanceType<typeof TextDecoder> {
  const charset = /charset="?([^";\s]+)/i.exec(type)?.[1] ?? 'utf-8'
  try {
    return new TextDecoder(charset)
  } catch {
    // A name that nobody knows: most of what is text is UTF-8.
    return new TextDecoder()
  }
}

function tooLarge(from: string, maxBytes: number): NerveError {
  return new NerveError(
    'http-failed',
    `${from} answered with more than ${maxBytes} bytes. Give a larger maxBytes, or ask for less.`,
    { data: { reason: 'size', maxBytes } },
  )
}

const SHORTEST_WAIT_MS = 1_000

/** How long the server asks to wait, in milliseconds: a number of seconds, or a date. */
export function retryAfter(header: string | null, now: number): number | undefined {
  if (header === null) return undefined
  const text = header.trim()
  const wait = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now
  // Not at once, whatever it says: such waits are not counted as attempts.
  return Number.isFinite(wait) ? Math.max(SHORTEST_WAIT_MS, wait) : undefined
}

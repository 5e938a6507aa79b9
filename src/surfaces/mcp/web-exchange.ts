/** Requests and responses of Node as those of the web, which is what the library for MCP has. */
import type { Visit } from '../server/mount.ts'
import { streamLink, type StreamLink } from '../server/link.ts'

/** Without its body. It is aborted when the client goes. */
export function webRequest({ request, response }: Visit): Request {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers))
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value)
  const url = new URL(request.url ?? '/', 'http://host')
  return new Request(url, { method: request.method ?? 'GET', headers, signal: gone.signal })
}

/** Sends it as it comes. A client whose token was taken back gets no more. */
export async function sendResponse({ response, visitor, patience }: Visit, answer: Response): Promise<void> {
  const link = streamLink(response, patience)
  const body: ReadableStream<Uint8Array> | null = answer.body
  const reader = body?.getReader()
  // What is not read any more does not have to be made; whether it could be stopped is no news here.
  const stop = (): void => void reader?.cancel().catch(() => undefined)
  link.over.addEventListener('abort', stop)
  if (response.destroyed) return stop()
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  response.flushHeaders()
  const decoder = new TextDecoder()
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    if (!visitor.isWelcome()) stop()
    else await sendPiece(link, visitor, decoder.decode(next.value, { stream: true }))
  }
  link.close()
}

async function sendPiece(link: StreamLink, visitor: Visit['visitor'], text: string): Promise<void> {
  const read = visitor.owe(text.length)
  try {
    await link.send(text)
  } finally {
    read()
  }
}

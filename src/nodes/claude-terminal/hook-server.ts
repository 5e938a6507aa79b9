/**
 * Where the hooks of Claude Code arrive: one small server per process, on loopback, while there is a Claude that could call.
 *
 * Each Claude has an address of its own, which nobody can guess. What comes to another address, under another name of this
 * machine, by another method, too large, or in another form, changes nothing.
 */
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readHook, type Hook } from './hook-events.ts'

/** What Claude Code gets back. Nothing in it: do as you would without the hook. */
export type HookReply = Readonly<Record<string, unknown>>

/** `gone` aborts when Claude Code no longer waits for the reply. */
export type HookListener = (hook: Hook, gone: AbortSignal) => HookReply | Promise<HookReply>

export interface HookDoor {
  readonly url: string
  close(): void
}

/** The largest hooks hold the files that tools read and write. */
const MOST_BYTES = 32 * 1024 * 1024
const PATH = /^\/hooks\/([0-9a-f]{64})$/

interface Running {
  readonly server: Server
  readonly port: number
}

const listeners = new Map<string, HookListener>()
let running: Promise<Running> | undefined

export async function openHookDoor(listener: HookListener): Promise<HookDoor> {
  const token = randomBytes(32).toString('hex')
  listeners.set(token, listener)
  try {
    running ??= listen()
    const { port } = await running
    return { url: `http://127.0.0.1:${port}/hooks/${token}`, close: () => closeDoor(token) }
  } catch (error) {
    closeDoor(token)
    throw error
  }
}

function closeDoor(token: string): void {
  listeners.delete(token)
  if (listeners.size > 0) return
  const last = running
  running = undefined
  last?.then(
    ({ server }) => {
      server.close()
      server.closeAllConnections()
    },
    // Whoever opened the door has heard of it.
    () => undefined,
  )
}

async function listen(): Promise<Running> {
  const server = createServer((request, response) => {
    void answer(request, response, (server.address() as AddressInfo | null)?.port)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  // It must not keep a process alive that has nothing else to do.
  server.unref()
  return { server, port: (server.address() as AddressInfo).port }
}

async function answer(request: IncomingMessage, response: ServerResponse, port: number | undefined): Promise<void> {
  const listener = listeners.get(PATH.exec(request.url ?? '')?.[1] ?? '')
  const gone = new AbortController()
  response.on('close', () => gone.abort(new Error('Claude Code no longer waits for an answer.')))
  // The name of the host is checked first: a page in a browser must not even learn what is here.
  if (request.headers.host !== `127.0.0.1:${port}`) return refuse(response, 403)
  if (listener === undefined) return refuse(response, 404)
  if (request.method !== 'POST') return refuse(response, 405)
  const body = await bodyOf(request)
  if (body === 'too large') return refuse(response, 413)
  const hook = body === 'broken' ? undefined : hookOf(body.text)
  if (hook === undefined) return refuse(response, 400)
  try {
    const reply = JSON.stringify(await listener(hook, gone.signal))
    response.writeHead(200, { 'content-type': 'application/json' }).end(reply)
  } catch (error) {
    // Without an answer the screen decides; the process hears of it.
    process.emitWarning(error instanceof Error ? error : String(error))
    refuse(response, 500)
  }
}

/** What is still on its way is not read. */
function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { connection: 'close' }).end()
}

async function bodyOf(request: IncomingMessage): Promise<'too large' | 'broken' | { readonly text: string }> {
  if (Number(request.headers['content-length'] ?? 0) > MOST_BYTES) return 'too large'
  const pieces: Buffer[] = []
  let size = 0
  try {
    for await (const piece of request) {
      size += (piece as Buffer).length
      if (size > MOST_BYTES) return 'too large'
      pieces.push(piece as Buffer)
    }
  } catch {
    return 'broken'
  }
  return { text: Buffer.concat(pieces).toString('utf8') }
}

function hookOf(body: string): Hook | undefined {
  try {
    return readHook(JSON.parse(body))
  } catch {
    return undefined
  }
}

/** Gateways and clients that end with their test. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createGateway, scripted, type Gateway, type GatewayOptions, type Script } from 'nerve/gateway'

// oxlint-disable-next-line no-explicit-any -- tests look into what was sent
export type Loose = any

export interface House extends Gateway {
  readonly key: string
  /** What nobody else heard of. */
  readonly problems: unknown[]
  readonly post: (path: string, body: unknown, more?: RequestInit) => Promise<Response>
}

export async function openGateway(options: GatewayOptions | Script): Promise<House> {
  const problems: unknown[] = []
  const given = 'rules' in options ? { backend: scripted(options) } : options
  const gateway = await createGateway({ onProblem: (error) => problems.push(error), ...given })
  onTestFinished(() => gateway.close())
  const key = gateway.token().token
  return {
    ...gateway,
    key,
    problems,
    post: (path, body, more = {}) =>
      fetch(gateway.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...(more.headers as object) },
        body: typeof body === 'string' ? body : JSON.stringify(body),
        ...(more.signal == null ? {} : { signal: more.signal }),
      }),
  }
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'nerve-gateway-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A request in Anthropic's format. */
export function ask(text: string, more: object = {}): object {
  return { model: 'scripted', max_tokens: 100, messages: [{ role: 'user', content: text }], ...more }
}

/** The data of each frame of a stream, and the text of its deltas. */
export async function readStream(
  response: Response,
): Promise<{ readonly data: readonly Loose[]; readonly text: string }> {
  const lines = (await response.text())
    .split('\n')
    .filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
  const data: Loose[] = lines.map((line) => JSON.parse(line.slice(6)))
  const text = data.map((one) => one.delta?.text ?? one.choices?.[0]?.delta?.content ?? '').join('')
  return { data, text }
}

export async function json(response: Response | Promise<Response>): Promise<Loose> {
  return (await response).json()
}

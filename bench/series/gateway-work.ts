// A provider of models in a process of its own, and a client that takes its replies: the same for all series.
import { spawn } from 'node:child_process'
import { Agent, request } from 'node:http'
import { createInterface } from 'node:readline'
import { resolve } from 'node:path'

export interface Served {
  readonly url: string
  readonly token: string
  close(): void
}

/** Starts one of the processes beside this file; the first line that it prints is where it listens. */
export async function serve(file: string, ...args: readonly string[]): Promise<Served> {
  const child = spawn(process.execPath, [...process.execArgv, resolve(import.meta.dirname, file), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const close = (): void => void child.kill('SIGKILL')
  process.once('exit', close)
  for await (const line of createInterface(child.stdout))
    return { ...(JSON.parse(line) as Omit<Served, 'close'>), close }
  throw new Error(`${file} ended before it listened`)
}

export const provider = (): Promise<Served> => serve('provider-process.ts')

/** Where a client finds the format of the provider, and another one. */
export const OWN_FORMAT = '/v1/messages'
export const OTHER_FORMAT = '/v1/chat/completions'

/** The length of a reply is checked: a reply that is cut off is no measurement. */
export function client(path: string, { url, token }: Served): { ask(tokens: number): Promise<string>; close(): void } {
  const agent = new Agent({ keepAlive: true })
  const headers = { 'content-type': 'application/json', 'x-api-key': token }
  const ask = (tokens: number): Promise<string> => {
    const body = {
      model: 'any',
      max_tokens: 4_096,
      stream: tokens > 0,
      messages: [{ role: 'user', content: `Say ${tokens}` }],
    }
    return new Promise((resolve, reject) => {
      const outgoing = request(url + path, { method: 'POST', agent, headers }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
        response.on('end', () => resolve(text))
      })
      outgoing.on('error', reject)
      outgoing.end(JSON.stringify(body))
    })
  }
  return { ask, close: () => agent.destroy() }
}

export function countTokens(text: string): number {
  return text.split('" token"').length - 1
}

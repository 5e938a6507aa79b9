// The floor of the server: node:http, and nothing that checks, limits or remembers.
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Prepared, Setup } from '../harness/contract.ts'
import { serve } from './gateway-work.ts'
import { asking, eventText, eventsOf, telling, type Asked } from './server-work.ts'

export const asked = async (): Promise<Prepared<string>> => asking((await serve('raw-server-process.ts')) as Asked)

/** Writes each event to all who listen, in a turn of its own. */
export async function subscribed(setup: Setup): Promise<Prepared<string>> {
  const listeners = new Set<ServerResponse>()
  const tell = (events: number, seq = 1): void => {
    const bytes = Buffer.from(eventText(seq))
    for (const one of listeners) one.write(bytes)
    if (seq < events) setImmediate(tell, events, seq + 1)
  }
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('id: 0\n\n')
    listeners.add(response)
    response.once('close', () => listeners.delete(response))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return telling(
    {
      url: `http://127.0.0.1:${port}`,
      token: 'none',
      burst: () => tell(eventsOf(setup.n)),
      close: () => {
        server.closeAllConnections()
        server.close()
      },
    },
    setup,
  )
}

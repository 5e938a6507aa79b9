/** Runs as resources: what clients can show, or put into a conversation, without calling a tool. */
import { ResourceNotFoundError, ResourceTemplate, type McpServer } from '@modelcontextprotocol/server'
import { isNerveError } from '../../base/nerve-error.ts'
import { encode } from '../../host/contract/wire.ts'
import type { Client } from '../client/client.ts'

const RUNS = 'nerve://runs'
const MOST_RUNS = 100
const LISTED = 20
const RECENT_EVENTS = 100
const JSON_TYPE = 'application/json'

export function addResources(server: McpServer, client: Client): void {
  server.registerResource(
    'runs',
    RUNS,
    { description: `The newest ${MOST_RUNS} runs`, mimeType: JSON_TYPE },
    async ({ href }) => json(href, await client.runs.list({ limit: MOST_RUNS })),
  )
  const list = async () => ({
    resources: (await client.runs.list({ limit: LISTED })).map(({ run, definition, status }) => ({
      uri: `${RUNS}/${run}`,
      name: `${definition} ${run}`,
      description: status,
      mimeType: JSON_TYPE,
    })),
  })
  server.registerResource(
    'run',
    new ResourceTemplate(`${RUNS}/{run}`, { list }),
    { description: `A run, and the last ${RECENT_EVENTS} events of its journal`, mimeType: JSON_TYPE },
    async ({ href }, { run }) => json(href, await shownRun(client, String(run), href)),
  )
}

async function shownRun(client: Client, wanted: string, address: string): Promise<object> {
  try {
    const run = await client.runs.get(wanted)
    const journal = await client.call('runs.journal', { run: run.run })
    return { run, journal: journal.slice(-RECENT_EVENTS), events: journal.length }
  } catch (error) {
    if (isNerveError(error, 'not-found')) throw new ResourceNotFoundError(address, error.message)
    throw error
  }
}

function json(uri: string, value: unknown) {
  return { contents: [{ uri, mimeType: JSON_TYPE, text: encode(value) }] }
}

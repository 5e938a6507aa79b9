/** The client over HTTP. Nothing of Node is behind this file: it is what browsers load. */
import { createClient, type Client } from './client.ts'
import { httpConnection, type HttpConnectionOptions } from './http-connection.ts'

/** What its errors are: a page has no other door to them. */
export { NerveError, isNerveError } from '../../base/nerve-error.ts'

/** A client of a host over HTTP, in Node or in a browser. Looks at once whether it is there. */
export async function connectHttp(
  url: string,
  token?: string,
  options: Pick<HttpConnectionOptions, 'fetch'> = {},
): Promise<Client> {
  return reached(createClient(httpConnection({ url, token, ...options })))
}

/** A host that is not there, or does not let us in, is an error now and not at the first use. */
export async function reached(client: Client): Promise<Client> {
  try {
    // What costs a host nothing, however much is open there.
    await client.runs.list({ limit: 0 })
    return client
  } catch (error) {
    await client.close()
    throw error
  }
}

// A bare server with one answer, in a process of its own.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ROW } from './server-work.ts'

const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(ROW)
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}`, token: 'none', row: '/v1/runs/get' }))
})

/** A host that is too busy to take in all who come at once. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { connect } from 'nerve/client'

/** Answers everything, after it has done something else for a while; there is room for few who wait for that. */
const busy = `
const { createServer } = require('node:net')
const { createInterface } = require('node:readline')
const server = createServer((socket) => {
  createInterface({ input: socket }).on('line', (line) => socket.write(JSON.stringify({ id: JSON.parse(line).id, result: { ok: true } }) + '\\n'))
})
server.listen({ path: process.argv[1], backlog: 2 }, () => {
  require('node:fs').writeSync(1, 'listens')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
})
`

it('lets them in one after the other: nobody is turned away', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-room-'))
  const socket = join(dir, 'nerve.sock')
  const host = spawn(process.execPath, ['-e', busy, socket])
  try {
    await once(host.stdout, 'data')
    const clients = await Promise.all(Array.from({ length: 20 }, () => connect(socket)))
    expect(clients).toHaveLength(20)
    for (const client of clients) await client.close()
  } finally {
    host.kill('SIGKILL')
    rmSync(dir, { recursive: true, force: true })
  }
})

// A server with one route, in a process of its own.
import { ROW } from '../series/server-work.ts'
import { use } from './untyped.ts'

const [{ Hono }, { serve }] = await Promise.all([use('hono'), use('@hono/node-server')])
const app = new Hono()
const row: unknown = JSON.parse(ROW)
app.get('/v1/runs/get', (context: { json(value: unknown): unknown }) => context.json(row))
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }: { port: number }) => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}`, token: 'none', row: '/v1/runs/get' }))
})

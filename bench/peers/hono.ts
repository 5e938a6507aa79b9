// A route of Hono on its adapter for Node.
import { join } from 'node:path'
import type { Series } from '../harness/contract.ts'
import { serve } from '../series/gateway-work.ts'
import { asking, type Asked } from '../series/server-work.ts'
import { versionsOf } from './untyped.ts'

export const load = async (): Promise<Series> => ({
  versions: versionsOf('hono', '@hono/node-server'),
  asked: async () => asking((await serve(join(import.meta.dirname, 'hono-process.ts'))) as Asked),
})

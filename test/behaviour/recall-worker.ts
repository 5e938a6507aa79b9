/** A process of its own that dies in the middle of a run that uses nodes of a session, for recall.test.ts. */
import { createHost, workflow } from 'nerve'
import { graph } from 'nerve/graph'
import { createSessionManager } from 'nerve/sessions'

const [, , dir = '', what = ''] = process.argv

const host = await createHost({ dir, recover: false })
const sessions = createSessionManager(host)
const hang = { kind: 'bash', id: 'hang', command: 'echo begun; exec sleep 1000', effect: 'repeatable' }
const shell = { kind: 'terminal', id: 'shell', command: 'bash' }
const session = await sessions.create({
  name: 'main',
  nodes: [hang, { kind: 'bash', id: 'say', effect: 'repeatable' }, ...(what === 'flow' ? [shell] : [])],
})
host.subscribe({ live: true }, (part) => {
  if ('data' in part && String(part.data).includes('begun')) console.log('begun')
})
if (what === 'send') await session.send('hang')
if (what === 'graph')
  await host.start(
    graph('named')
      .step('one', 'hang', {})
      .step('two', 'say', { after: ['one'], input: 'echo two' }),
  )
if (what === 'flow')
  await host.start(
    workflow('flow', async (ctx) => {
      await ctx.run('shell', 'cd /usr')
      await ctx.run('hang', undefined)
      return ctx.run('shell', 'pwd')
    }),
  )
// Until it is killed.
setInterval(() => undefined, 1_000)

/** A process of its own that has a session open, for session-manager.test.ts, which kills it. */
import { createHost, defineNode } from 'nerve'
import { createSessionManager } from 'nerve/sessions'

const [, , dir = '', what = ''] = process.argv

const host = await createHost({ dir, recover: false })
const sessions = createSessionManager(host)
const hang = (): Promise<string> => {
  console.log('begun')
  return new Promise(() => undefined)
}
const talk = defineNode('talk', (size: number) => (size < 0 ? hang() : 'x'.repeat(size)), { persistent: true })
const session = await sessions.create({
  name: 'main',
  tags: ['work'],
  nodes: [talk, { kind: 'identity', id: 'same', description: 'as it is' }],
})
await session.fork('same')
console.log('open')

if (what === 'write') for (;;) await session.send('talk', 50_000)
if (what === 'hang') await session.send('talk', -1)
// Until it is killed.
setInterval(() => undefined, 1_000)

/** A host with a question, and who tells of it: for tests that kill it. Arguments: the folder, the address of the webhook. */
import { createHost, workflow } from 'nerve'
import { createService, startNotifications } from 'nerve/server'

const [, , dir = '', url = ''] = process.argv
const ask = workflow('ask', (ctx, about: string) => ctx.ask(`${about}?`))
const host = await createHost({ dir, definitions: [ask] })
const notifications = startNotifications({
  service: createService(host),
  dir,
  settings: { webhooks: [{ url, secretEnv: 'HOOK' }] },
  onProblem: (error) => console.error(error),
  backoff: [10, 10],
})
process.on('message', (about: string) => {
  if (about === 'stop') void end()
  else void host.start(ask, about).then(() => process.send?.(about))
})
process.send?.('ready')

async function end(): Promise<void> {
  await notifications.stop()
  await host.close()
  process.disconnect()
}

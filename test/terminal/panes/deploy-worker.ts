/** A host that starts the run and waits to be killed. */
import { createHost } from 'nerve'
import { deployFlow } from './deploy-flow.ts'

const [, , dir = ''] = process.argv
const { deploy } = deployFlow(dir)
const host = await createHost({ dir, recover: false })
host.subscribe({ live: true }, (heard) => {
  if ('live' in heard && String(heard.data).includes('begun')) console.log('begun')
})
await host.start(deploy)
setInterval(() => undefined, 1_000)

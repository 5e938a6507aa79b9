/** GitHub Copilot itself, by its SDK, on a scripted model. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { copilotAgent } from 'nerve/agents'
import { conforms, vendorFolder } from './vendors.ts'

conforms({
  title: 'copilot',
  adapter: copilotAgent({ sdk: join(vendorFolder('@github/copilot-sdk'), 'dist/index.js') }),
  prepare: ({ home, gateway }) => {
    const own = join(home, 'copilot')
    mkdirSync(own, { recursive: true })
    return {
      env: { PATH: process.env['PATH'] ?? '', HOME: home, COPILOT_HOME: own },
      gateway: { url: gateway.url, token: gateway.token().token },
      model: 'gpt-5',
    }
  },
})

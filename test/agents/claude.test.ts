/** Claude Code itself, by its SDK, on a scripted model. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { claudeAgent } from 'nerve/agents'
import { conforms, vendorFolder } from './vendors.ts'

conforms({
  title: 'claude',
  adapter: claudeAgent({ sdk: join(vendorFolder('@anthropic-ai/claude-agent-sdk'), 'sdk.mjs') }),
  prepare: ({ home, gateway }) => {
    const config = join(home, 'claude')
    mkdirSync(config, { recursive: true })
    return {
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: home,
        CLAUDE_CONFIG_DIR: config,
        CLAUDE_CODE_MAX_RETRIES: '1',
      },
      gateway: { url: gateway.url, token: gateway.token().token },
    }
  },
})

/** Codex itself, on a scripted model. */
import { join } from 'node:path'
import { mkdirSync } from 'node:fs'
import { codexAgent } from 'nerve/agents'
import { conforms, vendorFolder } from './vendors.ts'

const machine = `${process.platform}-${process.arch}`
const command = join(vendorFolder(`@openai/codex-${machine}`), 'vendor/x86_64-unknown-linux-musl/bin/codex')

conforms({
  title: 'codex',
  adapter: codexAgent({ command }),
  prepare: ({ home, gateway }) => {
    const codexHome = join(home, 'codex')
    mkdirSync(codexHome, { recursive: true })
    return {
      env: { PATH: process.env['PATH'] ?? '', HOME: home, CODEX_HOME: codexHome },
      gateway: { url: gateway.url, token: gateway.token().token },
      model: 'gpt-5-codex',
    }
  },
})

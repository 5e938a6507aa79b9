import { killed } from './killed.ts'

killed('scripted', { compaction: 'it takes no time' })
killed('codex')
killed('copilot')
killed('claude')

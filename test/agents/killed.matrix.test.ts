import { killed } from './killed.ts'

killed('opencode')
killed('opencode over ACP', { compaction: 'its next turn makes up for the compaction, and does nothing else' })
killed('gemini', { compaction: 'gemini has no compact' })

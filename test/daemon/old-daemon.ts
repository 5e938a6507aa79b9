/** A daemon as an older version of Nerve would be: old-daemon.ts DIR. */
import { startDaemon } from '../../src/surfaces/daemon/daemon.ts'

const daemon = await startDaemon({
  dir: process.argv[2] ?? '',
  version: '0.0.1',
  say: () => undefined,
  onProblem: (error) => console.error(error),
})
await daemon.ended
process.exit(0)

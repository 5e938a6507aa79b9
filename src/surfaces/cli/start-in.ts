/** Starts a run in the daemon. */
import type { Input } from '../../host/contract/contract.ts'
import { tell } from './project-daemon.ts'
import type { DaemonHost } from './run-host.ts'

/** A file may take its time to load. */
const SILENT_MS = 10_000

interface There {
  readonly daemon: {
    readonly client: { call(name: 'runs.start', input: Input<'runs.start'>): Promise<{ readonly run: string }> }
    readonly record: Pick<DaemonHost['daemon']['record'], 'pid'>
  }
}

/** The id of the run. Who waits for it long is told for what: code that never pauses keeps the daemon from answering. */
export async function startIn({ daemon }: There, start: Input<'runs.start'>, patience = SILENT_MS): Promise<string> {
  const late = setTimeout(() => {
    tell(
      `The daemon (process ${daemon.record.pid}) has not started the run yet: its file takes long to load, or code that never pauses keeps ` +
        'the daemon busy. Ctrl-C leaves. If it does not come back: nerve server stop --force',
    )
  }, patience)
  try {
    return (await daemon.client.call('runs.start', start)).run
  } finally {
    clearTimeout(late)
  }
}

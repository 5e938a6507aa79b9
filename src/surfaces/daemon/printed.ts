/**
 * What workflows print. It goes to the log of the daemon, and as live parts to whoever watches the run that printed it, so
 * that console.log is seen where it was before there was a daemon.
 */
import { currentRun, type Host } from '../../host/daemon-api.ts'
import { PRINTED } from './daemon-files.ts'

/** Until what it returns is called. */
export function forwardPrints(host: Pick<Host, 'emit'>): () => void {
  const undo = [process.stdout, process.stderr].map((stream) => {
    const write = stream.write.bind(stream) as (...all: unknown[]) => boolean
    stream.write = (text: string | Uint8Array, ...rest: unknown[]) => {
      const at = currentRun()
      if (at !== undefined && typeof text === 'string') host.emit(at.path, PRINTED, text, at.run)
      return write(text, ...rest)
    }
    return () => Reflect.deleteProperty(stream, 'write')
  })
  return () => {
    for (const one of undo) one()
  }
}

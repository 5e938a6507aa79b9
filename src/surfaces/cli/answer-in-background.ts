import { spawn } from 'node:child_process'

/** `--detach --yes`: somebody has to be there who says yes, also when the daemon is started anew. */
export function answerInBackground(dir: string, run: string): void {
  const words = ['attach', run, '--yes', '--json', '--dir', dir]
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? '', ...words], {
    cwd: dir,
    detached: true,
    stdio: 'ignore',
  })
  child.unref()
}

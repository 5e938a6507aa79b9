import { TmuxPanes } from '../../../src/nodes/panes/tmux-panes.ts'
import { terminalEnvironment } from '../../../src/nodes/terminal/terminal-options.ts'
import { describe } from 'vitest'
import { NO_TMUX, endServer } from './pane-stage.ts'
import { panePortSuite } from './port-suite.ts'

describe.skipIf(NO_TMUX !== '')(`panes${NO_TMUX}`, () => {
  // Where nobody says that texts are UTF-8, as in a service or in cron, tmux would show something else.
  for (const [name, env] of [
    ['', {}],
    [', in the locale C', { LC_ALL: 'C' }],
  ] as const)
    panePortSuite(`of tmux, the real one${name}`, async () => {
      const socket = `nerve-port-${process.pid}-${Object.keys(env).length}`
      const port = new TmuxPanes({ socket, env: terminalEnvironment({ env, inherit: [] }) })
      return { port, end: async () => endServer(socket) }
    })
})

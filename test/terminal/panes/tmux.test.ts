import { TmuxPanes } from '../../../src/nodes/panes/tmux-panes.ts'
import { terminalEnvironment } from '../../../src/nodes/terminal/terminal-options.ts'
import { describe } from 'vitest'
import { NO_TMUX, endServer } from './pane-stage.ts'
import { panePortSuite } from './port-suite.ts'

describe.skipIf(NO_TMUX !== '')(`panes${NO_TMUX}`, () => {
  panePortSuite('of tmux, the real one', async () => {
    const socket = `nerve-port-${process.pid}`
    const port = new TmuxPanes({ socket, env: terminalEnvironment({ env: {}, inherit: [] }) })
    return { port, end: async () => endServer(socket) }
  })
})

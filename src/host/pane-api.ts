/** What surfaces may use of multiplexers: panes as they are, without a node around them. */
import type { PanePort } from '../nodes/panes/pane-port.ts'
import { WezTermPanes, type WezTermOptions } from '../nodes/panes/wezterm-panes.ts'

export type { PaneInfo, PanePort } from '../nodes/panes/pane-port.ts'

export function weztermPanes(options: WezTermOptions): PanePort {
  return new WezTermPanes(options)
}

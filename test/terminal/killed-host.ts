/** Opens a terminal with processes that left it, says which they are, and waits to be killed. */
import { terminal } from 'nerve/terminal'

const shell = terminal('doomed', { command: 'bash' })
const { output } = await shell.execute(
  "head -1 < <(setsid sh -c 'echo $$; exec sleep 1000'); nohup sleep 1000 >/dev/null 2>&1 & jobs -p",
)
console.log(JSON.stringify([shell.info().pid, ...(output.match(/^\d+$/gm) ?? []).map(Number)]))
setInterval(() => undefined, 1_000)

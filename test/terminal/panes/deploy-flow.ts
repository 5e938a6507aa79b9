/** A run whose second command waits for a file, so that its host can be killed in the middle of it. */
import { workflow } from 'nerve'
import { terminal } from 'nerve/terminal'

const LINE = `echo begun $where; until [ -e go ]; do sleep 0.02; done; echo once >>ran; printf 'done\\n'; (exit 7)`

export function deployFlow(dir: string) {
  const shell = terminal('shell', { command: 'bash', in: { mux: 'tmux', project: dir }, cwd: dir, timeout: '30s' })
  const deploy = workflow('deploy', async (ctx) => {
    await ctx.run(shell, 'where=here', { label: 'set' })
    const { output, exitCode, rule } = await ctx.run(shell, LINE, { label: 'deploy' })
    const { output: after } = await ctx.run(shell, 'echo still $where', { label: 'after' })
    return { output, exitCode, rule, after }
  })
  return { shell, deploy }
}

/** A command as a person can type it here: where npx found `nerve`, a shell alone does not. */
export function asCalled(command: string): string {
  return process.env['npm_command'] === 'exec' ? `npx ${command}` : command
}

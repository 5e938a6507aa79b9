import { here } from './scope.ts'

/** The run whose code is at work where this is called, and the step that it is in; undefined outside of runs. */
export function currentRun(): { readonly run: string; readonly path: string } | undefined {
  const at = here.getStore()
  if (at === undefined || !('run' in at.owner)) return undefined
  return { run: String(at.owner.run), path: 'inStep' in at ? at.inStep : at.path }
}

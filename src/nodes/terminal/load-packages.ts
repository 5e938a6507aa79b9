/** The two packages that terminals need. They are optional peers: who has no terminals does not install them. */
import { NerveError } from '../../base/nerve-error.ts'
import { importNamed } from '../import-named.ts'

export type PtyModule = typeof import('@lydell/node-pty')
export type ScreenModule = typeof import('@xterm/headless')

const INSTALL = 'npm install @lydell/node-pty@1.1.0 @xterm/headless@6.0.0'

export async function loadPty(): Promise<PtyModule> {
  return loaded('@lydell/node-pty', () => importNamed<PtyModule>('@lydell/node-pty'))
}

export async function loadScreen(): Promise<ScreenModule> {
  return loaded('@xterm/headless', () => importNamed<ScreenModule>('@xterm/headless'))
}

/** Both are CommonJS: what they export may be on `default` alone. */
export async function loaded<Module>(name: string, load: () => Promise<Module>): Promise<Module> {
  try {
    const found = await load()
    return (found as { default?: Module }).default ?? found
  } catch (error) {
    throw new NerveError('package-missing', `Terminals need the package ${name}. Install it: ${INSTALL}`, {
      data: { package: name, install: INSTALL },
      cause: error,
    })
  }
}

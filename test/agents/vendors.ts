/**
 * The agents of vendors, for the tests: where their packages are, and a scripted model on loopback that all of them are pointed at.
 * `scripts/vendors.ts` brings the packages; the test command runs it.
 */
import { mkdtempSync, mkdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createGateway, scripted, type Gateway } from 'nerve/gateway'
import { agentConformance, promptedScript, type AgentUnderTest } from 'nerve/testing'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const VENDORS = join(ROOT, 'vendors')

/** A file of a package that is installed in `vendors`. */
export function vendorFile(name: string): string {
  return createRequire(join(VENDORS, 'package.json')).resolve(name)
}

export function vendorFolder(name: string): string {
  return join(VENDORS, 'node_modules', name)
}

export interface VendorTest {
  readonly title: string
  readonly adapter: AgentUnderTest['adapter']
  /** `home` is an empty folder outside of the folders for temporary files: some agents refuse those. */
  readonly prepare: (place: {
    readonly home: string
    readonly cwd: string
    readonly gateway: Gateway
  }) => Pick<Awaited<ReturnType<AgentUnderTest['prepare']>>, 'env' | 'gateway' | 'native' | 'model'>
  readonly skip?: AgentUnderTest['skip']
}

/** Runs the conformance suite on a real agent. */
export function conforms({ title, adapter, prepare, skip = {} }: VendorTest): void {
  describe(title, { timeout: 60_000 }, () => {
    let gateway: Gateway
    let home = ''
    beforeAll(async () => {
      mkdirSync(join(ROOT, 'coverage'), { recursive: true })
      home = mkdtempSync(join(ROOT, 'coverage', 'agent-'))
      gateway = await createGateway({ backend: scripted(promptedScript) })
    })
    afterAll(async () => {
      await gateway.close()
      rmSync(home, { recursive: true, force: true })
    })
    const under: AgentUnderTest = {
      adapter,
      prepare: async () => {
        const cwd = mkdtempSync(join(home, 'work-'))
        return { cwd, ...prepare({ home, cwd, gateway }) }
      },
      skip,
    }
    for (const { name, skip: reason, run } of agentConformance(under))
      it(reason === undefined ? name : `${name} (skipped: ${reason})`, { skip: reason !== undefined }, () =>
        expect(run()).resolves.toBeUndefined(),
      )
  })
}

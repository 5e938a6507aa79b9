/** The doors of the package: what `exports` in package.json says that people can import. It is the only list of them. */
import { readFileSync } from 'node:fs'

export interface Door {
  /** `nerve` or `nerve/graph`. */
  readonly name: string
  /** From the root of the repository, with slashes: `src/graph.ts`. */
  readonly source: string
  /** In the same way: `dist/graph.js`. */
  readonly built: string
}

type Target = { readonly 'nerve-source': string; readonly default: string } | string

const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
const { exports } = JSON.parse(text) as { readonly exports: Readonly<Record<string, Target>> }

/** Files that are exported as they are, such as schemas, are no doors. */
export const DOORS: readonly Door[] = Object.entries(exports).flatMap(([path, target]) =>
  typeof target === 'string'
    ? []
    : [{ name: `nerve${path.slice(1)}`, source: target['nerve-source'].slice(2), built: target.default.slice(2) }],
)

/**
 * Keeps the code of Nerve in memory. A daemon lives for weeks and loads parts of itself when they are first needed; when
 * the package is upgraded meanwhile, those files are gone, or others are in their place. It goes on with the code that it
 * was started with, whole, and gives way to the new one when it is idle.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

/** For the package as it is built: sources are for whoever works on them. */
export function keepOwnCode(here: string = import.meta.url): void {
  if (here.endsWith('.ts')) return
  const code = codeIn(new URL('../', here))
  registerHooks({
    resolve: (specifier, context, next) => {
      const url = URL.parse(specifier, context.parentURL)?.href ?? ''
      return code.has(url) ? { url, format: 'module', shortCircuit: true } : next(specifier, context)
    },
    load: (url, context, next) => {
      const source = code.get(url)
      return source === undefined ? next(url, context) : { format: 'module', source, shortCircuit: true }
    },
  })
}

function codeIn(folder: URL): ReadonlyMap<string, Buffer> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.js'))
  return new Map(files.map((name) => new URL(name, folder)).map((url) => [url.href, readFileSync(url)]))
}

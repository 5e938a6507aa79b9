/**
 * Writes the JSON Schema of agent bundles, made of the fields in the code.
 *
 *     node scripts/agent-schema.ts
 *
 * A test says when the file is not current.
 */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { BUNDLE_SCHEMA } from '../src/host/bundles/bundle-schema.ts'

export function schemaText(): string {
  return `${JSON.stringify(BUNDLE_SCHEMA, undefined, 2)}\n`
}

export const SCHEMA_FILE = fileURLToPath(new URL('../schema/nerve-agent.schema.json', import.meta.url))

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(SCHEMA_FILE, schemaText())

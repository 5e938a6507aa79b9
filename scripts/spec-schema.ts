/**
 * Writes the JSON Schema of specs, made of the forms in the code.
 *
 *     node scripts/spec-schema.ts
 *
 * A test says when the file is not current.
 */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { FORMS } from '../src/define/spec/forms.ts'
import { specSchema } from '../src/define/spec/spec-schema.ts'

export function schemaText(): string {
  return `${JSON.stringify(specSchema(FORMS), undefined, 2)}\n`
}

export const SCHEMA_FILE = fileURLToPath(new URL('../schema/nerve-spec.schema.json', import.meta.url))

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(SCHEMA_FILE, schemaText())

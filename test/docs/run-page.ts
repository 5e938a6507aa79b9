/** Runs the modules given as arguments one after the other and prints, as one line of JSON, what each of them printed. */
import { pathToFileURL } from 'node:url'
import { format } from 'node:util'

const printed: Record<string, string[]> = {}
const print = console.log
for (const file of process.argv.slice(2)) {
  const lines: string[] = (printed[file] = [])
  console.log = (...parts: unknown[]) => void lines.push(...format(...parts).split('\n'))
  try {
    await import(pathToFileURL(file).href)
  } catch (error) {
    throw new Error(`${file} failed`, { cause: error })
  }
}
console.log = print
console.log(JSON.stringify(printed))

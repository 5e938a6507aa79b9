// A host behind a TCP port, in a process of its own.
import { serving } from './nerve-serving.ts'

const [, , dir = ''] = process.argv
const { url, token, start } = await serving(dir)
const run = await start(1)
await run.result()
console.log(JSON.stringify({ url, token, row: `/v1/runs/get?run=${run.id}` }))

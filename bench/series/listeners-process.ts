// Many who listen to the events of a server, in a process of their own. Says when all have begun, and each time when all have heard
// as many events as a run has. They count events and look at nothing else.
import { connect } from 'node:net'

const [, , url = '', token = '', subscribers = '', events = ''] = process.argv
const { hostname, port, host } = new URL(url)
const ASK = `GET /v1/events HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\n\r\n`
const perRun = Number(events)
let begun = 0
let done = 0

function listen(): void {
  let heard = 0
  let rest: Buffer = Buffer.alloc(0)
  let began = false
  connect(Number(port), hostname)
    .on('data', (chunk) => {
      // The first thing that is told is where the feed begins.
      if (!began && chunk.includes('id: ')) {
        began = true
        begun += 1
        if (begun === Number(subscribers)) console.log('began')
      }
      const text = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      let after = 0
      for (let at = text.indexOf('data: '); at !== -1; at = text.indexOf('data: ', after)) {
        after = at + 6
        heard += 1
      }
      rest = text.subarray(Math.max(after, text.length - 5))
      if (heard > perRun) console.log(`${heard} events instead of ${perRun}`)
      if (heard !== perRun) return
      heard = 0
      done += 1
      if (done % Number(subscribers) === 0) console.log('heard')
    })
    .write(ASK)
}

for (let i = 0; i < Number(subscribers); i += 1) listen()

/** For how long something may go on without letting timers, files and sockets have their turn. */
const MOST_MS = 10

let last = 0
let turn: Promise<void> | undefined

/**
 * To be awaited now and then by what may go on for long without waiting for anything: then it waits for the next turn of the event loop.
 * All who ask share the time, so that many of them do not hold it up together. Undefined while nobody has to wait.
 */
export function giveWay(): Promise<void> | undefined {
  if (turn === undefined && performance.now() - last < MOST_MS) return undefined
  turn ??= new Promise((resolve) => {
    setImmediate(() => {
      last = performance.now()
      turn = undefined
      resolve()
    })
  })
  return turn
}

/** Lets a number of things run at a time, in the order in which they were asked for. */
export interface Slots {
  take<Value>(run: () => Promise<Value>): Promise<Value>
}

const UNLIMITED: Slots = { take: (run) => run() }

export function slots(most: number): Slots {
  if (most === Infinity) return UNLIMITED
  const waiting: (() => void)[] = []
  let read = 0
  let running = 0
  return {
    async take(run) {
      if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve))
      else running += 1
      try {
        return await run()
      } finally {
        // Whoever waits takes over the slot: nobody can come in between.
        const next = waiting[read]
        if (next === undefined) running -= 1
        else {
          read += 1
          next()
        }
      }
    },
  }
}

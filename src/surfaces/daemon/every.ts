/** Does something at once and again and again, never twice at the same time, until what it returns is called. Does not keep a process alive. */
export function everyNowAndThen(
  ms: number,
  work: () => Promise<void>,
  onProblem: (error: unknown) => void,
): () => void {
  let busy = false
  let over = false
  const go = (): void => {
    if (busy || over) return
    busy = true
    work()
      .catch((error: unknown) => {
        if (!over) onProblem(error)
      })
      .finally(() => {
        busy = false
      })
  }
  go()
  const timer = setInterval(go, ms)
  timer.unref()
  return () => {
    over = true
    clearInterval(timer)
  }
}

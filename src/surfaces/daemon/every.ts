/** Does something again and again, never twice at once, until what it returns is called. Does not keep a process alive. */
export function everyNowAndThen(
  ms: number,
  work: () => Promise<void>,
  onProblem: (error: unknown) => void,
): () => void {
  let busy = false
  let over = false
  const timer = setInterval(() => {
    if (busy || over) return
    busy = true
    work()
      .catch((error: unknown) => {
        if (!over) onProblem(error)
      })
      .finally(() => {
        busy = false
      })
  }, ms)
  timer.unref()
  return () => {
    over = true
    clearInterval(timer)
  }
}

/**
 * A daemon has the code of many workflows in its process. What one of them forgets to catch, or a call of `process.exit`, must
 * not end the runs of the others. What it returns undoes that.
 */
export function quietly(onProblem: (error: unknown) => void): () => void {
  const exit = process.exit.bind(process)
  process.on('uncaughtException', onProblem)
  process.on('unhandledRejection', onProblem)
  process.exit = (code) => {
    throw new Error(`A workflow called process.exit(${code ?? ''}). In a daemon it fails instead: others run here too.`)
  }
  return () => {
    process.exit = exit
    process.off('uncaughtException', onProblem)
    process.off('unhandledRejection', onProblem)
  }
}

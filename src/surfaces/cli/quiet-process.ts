/**
 * A daemon has the code of many workflows in its process. What one of them forgets to catch, or a call of `process.exit` or
 * `process.chdir`, must not end the runs of the others, or do their work in another place. What it returns undoes that.
 */
export function quietly(onProblem: (error: unknown) => void): () => void {
  const [exit, chdir] = [process.exit.bind(process), process.chdir.bind(process)]
  process.on('uncaughtException', onProblem)
  process.on('unhandledRejection', onProblem)
  process.exit = (code) => refuse(`exit(${code ?? ''})`)
  process.chdir = (folder) => refuse(`chdir(${JSON.stringify(folder)})`)
  return () => {
    Object.assign(process, { exit, chdir })
    process.off('uncaughtException', onProblem)
    process.off('unhandledRejection', onProblem)
  }
}

function refuse(call: string): never {
  throw new Error(`A workflow called process.${call}. In a daemon it fails instead: others run here too.`)
}

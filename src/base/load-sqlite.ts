/** The SQLite that Node brings, loaded when it is first needed. Node 22 warns that node:sqlite is experimental; a person running a workflow has no use for that line. */
export function loadSqlite(): typeof import('node:sqlite') {
  const warn = process.emitWarning.bind(process) as (...all: readonly unknown[]) => void
  const original = Object.getOwnPropertyDescriptor(process, 'emitWarning')
  process.emitWarning = (text: string | Error, ...rest: unknown[]): void => {
    if (!String(text).includes('SQLite')) warn(text, ...rest)
  }
  try {
    return process.getBuiltinModule('node:sqlite')
  } finally {
    if (original !== undefined) Object.defineProperty(process, 'emitWarning', original)
  }
}

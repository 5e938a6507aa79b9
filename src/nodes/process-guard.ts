/**
 * No orphans, also after kill -9 of this process. One small shell per process waits at the end of a pipe that only this
 * process holds. It is told which trees are alive; when the pipe ends, it ends those trees, and then itself.
 *
 * A tree is announced by its mark before its first process starts, so that there is no moment in which one is unknown.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { NerveError } from '../base/nerve-error.ts'

/**
 * Lines `+ MARK PID`, `+ MARK -` and `- MARK` come in; everything after the loop is for when the host has died. Of a tree the process that was told
 * last counts: an earlier one may have ended, and its pid may be somebody else's.
 */
const GUARD_SCRIPT = `
trap '' HUP INT TERM QUIT
live=
while read -r sign mark pid; do
  [ -n "$mark" ] || continue
  rest=
  for one in $live; do case $one in "$mark":*) ;; *) rest="$rest $one" ;; esac; done
  live=$rest
  [ "$sign" = - ] || live="$live $mark:$pid"
done
[ -n "$live" ] || exit 0
roots= patterns=
for one in $live; do
  roots="$roots \${one#*:}"
  patterns="$patterns -e \${one%%:*}"
done
table() {
  if [ -r /proc/self/stat ]; then
    for file in /proc/[0-9]*/stat; do
      { read -r line <"$file"; } 2>/dev/null || continue
      pid=\${file#/proc/}
      set -- \${line##*) }
      [ "$1" = Z ] || echo "\${pid%/stat} $2 $3 $4"
    done
  else
    ps -A -o pid= -o ppid= -o pgid= -o pgid=
  fi
}
marked() {
  if [ -r /proc/self/environ ]; then
    grep -lsF $patterns /proc/[0-9]*/environ | while read -r file; do file=\${file#/proc/}; echo "\${file%/environ}"; done
  else
    ps -A -E -ww -o pid= -o command= 2>/dev/null | grep -F $patterns | while read -r pid rest; do echo "$pid"; done
  fi
}
seen=
members() {
  held="$seen $(marked | tr '\\n' ' ')"
  table | awk -v roots="$roots" -v held="$held" -v self=$$ '
    BEGIN { n = split(roots, r, " "); for (i = 1; i <= n; i++) root[r[i]] = 1
            n = split(held, h, " "); for (i = 1; i <= n; i++) keep[h[i]] = 1 }
    { parent[$1] = $2; if (($1 in root) || ($3 in root) || ($4 in root)) keep[$1] = 1 }
    END { do { grown = 0
               for (p in parent) if (!(p in keep) && (parent[p] in keep)) { keep[p] = 1; grown = 1 } } while (grown)
          for (p in keep) if ((p in parent) && p != self) print p }' | tr '\\n' ' '
}
strike() {
  found=$(members)
  [ -n "$found" ] || exit 0
  seen="$seen $found"
  for sign in "$@"; do kill -s "$sign" $found 2>/dev/null; done
}
strike TERM CONT
for i in 1 2 3 4 5; do
  sleep 0.2
  [ -n "$(members)" ] || exit 0
done
i=0
while [ $i -lt 50 ]; do
  strike KILL
  sleep 0.1
  i=$((i + 1))
done
`

/** A guard that ended sooner than this cannot work here; starting it again and again would not help. */
const SHORTEST_LIFE_MS = 1_000

interface Guard {
  readonly pipe: Socket
  /** Rejects when it could not be started. */
  readonly ready: Promise<unknown>
}

let guard: Guard | undefined
const live = new Map<string, number | undefined>()

/** Before the first process of a tree starts. Without a guard nothing is started. */
export async function guardTree(mark: string): Promise<void> {
  guard ??= start()
  try {
    await guard.ready
  } catch (cause) {
    throw new NerveError(
      'command-failed',
      `The guard that ends commands when this process dies could not be started: ${(cause as Error).message}.`,
      { cause, retry: 'later', data: { reason: 'guard' } },
    )
  }
  live.set(mark, undefined)
  tell(`+ ${mark} -`)
}

export function guardProcess(mark: string, pid: number): void {
  live.set(mark, pid)
  tell(`+ ${mark} ${pid}`)
}

/** When nothing of the tree is left, or when what is left may stay. */
export function releaseTree(mark: string): void {
  live.delete(mark)
  tell(`- ${mark}`)
}

function start(): Guard {
  const began = performance.now()
  // A session of its own: a Ctrl-C at the terminal is meant for the host, and the guard is needed after it.
  const child = spawn('/bin/sh', ['-c', GUARD_SCRIPT, 'nerve-guard'], {
    cwd: '/',
    detached: true,
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin' },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const made: Guard = { pipe: child.stdin as unknown as Socket, ready: once(child, 'spawn') }
  const gone = (): void => {
    if (guard === made) guard = undefined
    if (guard === undefined && live.size > 0 && performance.now() - began > SHORTEST_LIFE_MS) restart()
  }
  // What breaks the pipe is the end of the guard, which is heard of here.
  child.on('exit', gone)
  made.pipe.on('error', () => undefined)
  made.ready.catch(gone)
  child.unref()
  made.pipe.unref()
  return made
}

function restart(): void {
  guard = start()
  for (const [mark, pid] of live) tell(`+ ${mark} ${pid ?? '-'}`)
}

function tell(line: string): void {
  guard?.pipe.write(`${line}\n`)
}

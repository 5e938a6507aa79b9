/** Lines that are one command, and lines that run another one in some shell. */
import { expect, it } from 'vitest'
import { isOneCommand } from './one-command.ts'

it.each([
  'git status',
  'git log --format=%H%n -- src/*.ts ~/x ~root/y',
  `git commit -m 'feat(api): what (it) does!'`,
  `git commit -m "feat(api): isn't it (good)!"`,
  `git commit -m "Done! (really)" -m "a != b"`,
  `grep "foo$" 'bar$' a/$NAME/$1 "$HOME"`,
  `awk '{print $2}' a.txt`,
  `sed 's/\\.ts$/.js/' a`,
  'git log =touch',
  'git log {a,b} {1..3} !',
  'git log %1 ^x a^b x#y # z',
  `git log 'it''s' "a""b"`,
])('one command: %j', (line) => {
  expect(isOneCommand(line)).toBe(true)
})

it.each([
  // Anywhere.
  ...['git log; touch x', 'git log & touch x', 'git log && touch x', 'git log || touch x', 'git log | touch x'],
  ...['git log |& touch x', 'git log &| touch x', 'git log &! touch x', 'git log\ntouch x', 'git log\r\ntouch x'],
  ...[
    'git log `touch x`',
    'git log $(touch x)',
    'git log "$(touch x)"',
    'git log "`touch x`"',
    'git log $((a[$(touch x)]))',
  ],
  ...[
    'git log > x',
    'git log >| x',
    'git log >> x',
    'git log 2>x',
    'git log < x',
    'git log <<E\nx\nE',
    'git log <<< x',
  ],
  ...['git log <(touch x)', 'git log >(touch x)', 'git log &>x', 'git log >&x'],
  // What a value holds is run: bash.
  ...["git log ${x:=$'\\x60touch x\\x60'} ${x@P}", "git log ${x:=$'a[\\x24\\x28touch x\\x29]'} $[x]", 'git log $[x]'],
  // zsh
  ...[
    'git log =(touch x)',
    `git log *(e:'touch x':)`,
    `git log *(Ne{'touch x'})`,
    'git log *(+touch)',
    'git log *(oe:x:)',
  ],
  ...[
    "git log ${~x::=$'*\\x28e\\x27touch x\\x27\\x29'}",
    '  git log ${(e)x}',
    'git log *(#qe:x:)',
    'git log (touch x)',
  ],
  // fish
  ...[
    'git log (touch x)',
    'git log a(touch x)b',
    'git log "a"(touch x)',
    `git log 'a\\'(touch x)'b'`,
    `git log '\\'' (touch x) '`,
  ],
  // Other quotes than these.
  ...['git log "a\\" (touch x) \\""', 'git log \\"(touch x)\\"', 'git log $"(touch x)"', `git log $'(touch x)'`],
  ...[
    'git log “a” "b” (touch x)"',
    "git log ’a’ '(x)’ '",
    `git log "it's" (touch x) 's"`,
    `git log 'say "hi' (touch x) '"'`,
  ],
  // What was said before.
  ...[
    'git log !!',
    'git log !touch',
    'git log !-1',
    'git log "!touch"',
    'git log a!$',
    'git log !?x',
    'git log !{touch}',
  ],
  // Keys, in a terminal.
  ...[
    'git log\u0015touch x',
    'git log\u0003touch x',
    'git log\u001b[A',
    'git log\u0000x',
    'git log\u0085touch x',
    'git log\u2028touch x',
  ],
])('more than one: %j', (line) => {
  expect(isOneCommand(line)).toBe(false)
})

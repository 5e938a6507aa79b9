/** Commands that are handed to a shell. */
import { expect, it } from 'vitest'
import { commandIn } from './shell-command.ts'

it.each([
  ['git push', 'git push'],
  ["/bin/bash -lc 'git push'", 'git push'],
  ['bash -c ls', 'ls'],
  [`/bin/zsh -lc "touch 'a b' && ls"`, "touch 'a b' && ls"],
  [String.raw`/bin/sh -c "echo \"\$HOME\" 'x'"`, `echo "$HOME" 'x'`],
  [`sh -c 'it'"'"'s'`, "it's"],
  [String.raw`sh -c 'it'\''s'`, "it's"],
  ["bash -c 'one\ntwo'", 'one\ntwo'],
  ['bash -lc npm\\ test', 'npm test'],
  ["bash -c 'git status'; rm -rf .", "bash -c 'git status'; rm -rf ."],
  ["bash -c 'git status' rm", "bash -c 'git status' rm"],
  ['bash -c git$(rm)', 'bash -c git$(rm)'],
  ["bash -c 'open", "bash -c 'open"],
  // What the first shell puts in is read once more by the second.
  ['bash -c "git log $x"', 'bash -c "git log $x"'],
  ['bash -c "git log `x`"', 'bash -c "git log `x`"'],
])('%j means %j', (line, command) => {
  expect(commandIn(line)).toBe(command)
})

/** Rules about what an agent may do. */
import { describe, expect, it } from 'vitest'
import type { PermissionRequest, ToolKind } from './adapter.ts'
import { decide, decisionOf, planPermission, type PermissionPolicy } from './permission.ts'

function request(tool: string, kind: ToolKind, input: unknown): PermissionRequest {
  return { id: '1', tool, kind, title: 'title', input }
}

const bash = (command: string): PermissionRequest => request('Bash', 'shell', { command })

function said(policy: PermissionPolicy, asked: PermissionRequest): string {
  const decision = decide(planPermission('test', policy), asked, '/project')
  return decision === 'ask' ? 'ask' : 'allow' in decision && decision.allow ? 'allow' : 'deny'
}

describe('a rule', () => {
  it.each([
    ['Bash', bash('ls'), 'allow'],
    ['bash', bash('ls'), 'allow'],
    ['shell', bash('ls'), 'allow'],
    ['read', bash('ls'), 'ask'],
    ['shell(git *)', bash('git status'), 'allow'],
    ['shell(git *)', bash('gitk'), 'ask'],
    ['shell(npm test)', bash('npm test'), 'allow'],
    ['shell(npm test)', bash('npm test2'), 'ask'],
    ['Edit(src/*)', request('Edit', 'edit', { file_path: 'src/a/b.ts' }), 'allow'],
    ['Edit(src/*)', request('Edit', 'edit', { file_path: 'etc/a.ts' }), 'ask'],
    ['Edit(src/*)', request('Edit', 'edit', { file_path: '/project/src/a.ts' }), 'allow'],
    ['Edit(src/*)', request('Edit', 'edit', { file_path: '/elsewhere/src/a.ts' }), 'ask'],
    ['Edit(src/*)', request('Edit', 'edit', { file_path: 'src/../.env' }), 'ask'],
    ['Edit(/project/src/*)', request('Edit', 'edit', { file_path: 'src/a.ts' }), 'allow'],
    ['edit(src/*)', request('edit', 'edit', { paths: ['/project/src/a.ts', 'src/b.ts'] }), 'allow'],
    ['edit(src/*)', request('edit', 'edit', { paths: ['/project/src/a.ts', '/project/.env'] }), 'ask'],
    ['shell(npm test && npm run lint)', bash('npm test && npm run lint'), 'allow'],
    ['shell(npm test && npm run *)', bash('npm test && npm run lint'), 'ask'],
    ['mcp__files__*', request('mcp__files__read', 'mcp', {}), 'allow'],
    ['fetch(https://example.com/*)', request('WebFetch', 'fetch', { url: 'https://example.com/x' }), 'allow'],
    ['fetch(https://example.com/*)', request('WebFetch', 'fetch', { url: 'https://example.com.evil.org/x' }), 'ask'],
    ['shell(git *)', request('exec', 'shell', { command: ['git', 'log'] }), 'allow'],
    ['*', bash('anything; at all'), 'allow'],
    ['shell(git branch -d *)', bash('git branch -D main'), 'ask'],
    ['edit(src/*)', request('Edit', 'edit', { file_path: 'SRC/a.ts' }), 'ask'],
    ['shell(git *)', request('Bash', 'shell', { command: 'rm x', paths: ['git log'] }), 'ask'],
    ['shell(git *)', request('Bash', 'shell', { command: 'git log', cmd: 'rm x' }), 'ask'],
    ['shell(git *)', request('Bash', 'shell', { command: 'git log', path: 'x', query: 'y' }), 'allow'],
    ['shell(git)', request('run', 'shell', { command: 'git', args: ['push'] }), 'ask'],
    ['shell(git *)', request('run', 'shell', { command: 'git log', args: ['; rm'] }), 'ask'],
    ['shell(git *)', request('run', 'shell', { command: 'git -P', args: ['log'] }), 'allow'],
    ['edit(src/*)', request('Edit', 'edit', { file_path: '/etc/x', path: 'src/a' }), 'ask'],
    ['edit(src/*)', request('Edit', 'edit', { command: 'src/a', path: '/etc/x' }), 'ask'],
    ['edit(src/*)', request('Edit', 'edit', { command: 'create', path: 'src/a (1)' }), 'allow'],
    ['fetch(https://a.org/*)', request('Web', 'fetch', { url: 'https://b.org', path: 'https://a.org/' }), 'ask'],
    ['fetch(https://a.org/*)', request('Web', 'fetch', { url: 'https://a.org/?x=1&y=(2)' }), 'allow'],
    ['bash(git *)', request('bash', 'other', { command: 'git log; rm x' }), 'ask'],
    ['bash(git *)', request('bash', 'other', { title: 'git log; rm x' }), 'ask'],
    ['mcp__sh__run(git *)', request('mcp__sh__run', 'mcp', { command: 'git log; rm x' }), 'ask'],
    ['mcp__web__get(https://*)', request('mcp__web__get', 'mcp', { url: 'https://a.org/?x=1&y=(2)' }), 'allow'],
  ] as const)('%s about %j: %s', (rule, asked, expected) => {
    expect(said({ allow: [rule] }, asked)).toBe(expected)
  })

  it.each([
    'git status; rm -rf .',
    'git status && rm -rf .',
    'git status | sh',
    'git log > /etc/passwd',
    'git log $(rm -rf .)',
    'git log `rm -rf .`',
    'git log\nrm -rf .',
    'git log & rm -rf .',
    `git log *(e:'rm -rf .':)`,
    'git log (rm -rf .)',
    "git log ${x:=$'\\x60rm -rf .\\x60'} ${x@P}",
    'git log !rm',
  ])('for one command does not allow %j', (command) => {
    expect(said({ allow: ['shell(git *)'] }, bash(command))).toBe('ask')
  })

  it('that denies is stronger, and finds its command within others', () => {
    const policy = { allow: ['*'], deny: ['shell(rm *)', 'Edit(.env*)'] }
    expect(said(policy, bash('ls'))).toBe('allow')
    expect(said(policy, bash('ls && rm -rf .'))).toBe('deny')
    expect(said(policy, request('Edit', 'edit', { path: '.env.local' }))).toBe('deny')
  })

  it.each([
    'git push',
    'git fetch && git push origin main',
    '(git push)',
    '{ git push; }',
    'if true; then git push; fi',
    'for one in a b; do git push $one; done',
    'A=1 B=2 git push',
    'git\tpush',
    'git \\\n  push',
    'git "push"',
    "'git' push",
    '\\git push',
    '/usr/bin/git push',
    'sudo env git push',
    'bash -lc "cd x && git push"',
    'echo "$(git push)"',
    'echo `git push`',
    '! git push',
    'git ${x} push',
    `ls *(e:'git push':)`,
    'ls *(Ne{git push})',
    'ls =(git push)',
    'ls; and git push',
    'noglob git push',
    'GIT PUSH',
  ])('that denies finds its command in %j', (command) => {
    expect(said({ deny: ['shell(git push*)', 'shell(git * push*)'], otherwise: 'allow' }, bash(command))).toBe('deny')
  })

  it.each(['git log', 'npm run push', 'git status; ls', 'git log --grep push-it'])(
    'that denies leaves %j',
    (command) => {
      expect(said({ deny: ['shell(git push*)'], otherwise: 'allow' }, bash(command))).toBe('allow')
    },
  )

  it.each([
    { file_path: '/project/secret/a' },
    { path: 'src/../secret/a' },
    { filepath: '/project/secret/a' },
    { notebook_path: '/project/secret/a' },
    { paths: ['/project/src/a', '/project/secret/a'] },
  ])('that denies a file finds it in %j', (input) => {
    expect(said({ deny: ['edit(secret/*)'], otherwise: 'allow' }, request('Edit', 'edit', input))).toBe('deny')
  })

  it('that is none is refused', () => {
    for (const wrong of ['', 'Bash(', 'a b', 7])
      expect(() => planPermission('test', { allow: [wrong as string] })).toThrow(/is no rule/)
    expect(() => planPermission('test', 'never' as never)).toThrow(/give allow, deny or ask/)
  })
})

it.each([
  ['ask', 'ask'],
  ['allow', 'allow'],
  ['deny', 'deny'],
  [{}, 'ask'],
  [{ otherwise: 'deny' }, 'deny'],
] as const)('without a rule %j means %s', (policy, expected) => {
  expect(said(policy, bash('ls'))).toBe(expected)
})

it.each([
  ['allow', { allow: true }],
  ['deny', { allow: false, reason: 'A person denied it.' }],
  [{ allow: true }, { allow: true }],
  [{ allow: { command: 'ls' } }, { allow: true, input: { command: 'ls' } }],
  [{ deny: 'not now' }, { allow: false, reason: 'not now' }],
  [{ deny: 1 }, undefined],
  ['perhaps', undefined],
  [null, undefined],
])('the answer %j means %j', (answer, decision) => {
  expect(decisionOf(answer)).toEqual(decision)
})

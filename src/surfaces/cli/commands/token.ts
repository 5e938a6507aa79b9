/** `nerve token list`, `create`, `rotate`, `revoke` and `show`. */
import { existsSync } from 'node:fs'
import { showDuration } from '../../../base/duration.ts'
import { NerveError } from '../../../base/nerve-error.ts'
import { SCOPES, type Scope } from '../../../host/contract/scopes.ts'
import { openTokens, tokensFile, type Token, type Tokens } from '../../server/tokens.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import type { Output } from '../output.ts'

export async function run(invocation: Invocation): Promise<number> {
  const { command, args, out, dir } = invocation
  const name = args.words[0] ?? ''
  switch (command) {
    case 'token create':
      return secret(out, create(invocation, name))
    case 'token rotate':
      return secret(out, existing(dir, name).rotate(name))
    case 'token show':
      return secret(out, shown(existing(dir, name), name))
    case 'token revoke':
      existing(dir, name).revoke(name)
      out.data({ name, revoked: true })
      out.line(`The token ${name} is refused from now on.`)
      return EXIT.done
    default:
      return list(out, dir)
  }
}

/** Looking makes no file. */
function list(out: Output, dir: string): number {
  const file = tokensFile(dir)
  const all = existsSync(file) ? openTokens(file).list() : []
  out.data(all.map(({ secret: _secret, ...token }) => token))
  if (all.length === 0) out.line('There are no tokens here. Make one: nerve token create NAME --scope read')
  const width = Math.max(...all.map((token) => token.name.length))
  for (const { name, scope, created } of all)
    out.line(`${name.padEnd(width)}  ${scope.padEnd(7)}  ${showDuration(Math.max(0, Date.now() - created))} old`)
  return EXIT.done
}

function create({ args, dir }: Invocation, name: string): Token {
  const scope = args.text('scope')
  if (!isScope(scope)) {
    const said = scope === undefined ? 'what may it do?' : `--scope is '${scope}'.`
    throw new UsageError(`nerve token create: ${said} Give --scope ${SCOPES.join(', --scope ')}.`)
  }
  return openTokens(tokensFile(dir)).create(name, scope)
}

function isScope(text: string | undefined): text is Scope {
  return SCOPES.some((scope) => scope === text)
}

function existing(dir: string, name: string): Tokens {
  const file = tokensFile(dir)
  if (existsSync(file)) return openTokens(file)
  throw new NerveError(
    'not-found',
    `There is no token '${name}': there are none in ${dir}. Make one: nerve token create NAME --scope read`,
  )
}

function shown(tokens: Tokens, name: string): Token {
  const found = tokens.list().find((token) => token.name === name)
  if (found !== undefined) return found
  throw new NerveError('not-found', `There is no token '${name}'. List them with: nerve token list`)
}

/** Alone on its line, so that it can be copied and piped. */
function secret(out: Output, token: Token): number {
  out.data(token)
  out.line(token.secret)
  return EXIT.done
}

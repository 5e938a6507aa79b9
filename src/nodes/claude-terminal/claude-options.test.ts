import { describe, expect, it } from 'vitest'
import { claudeTerminal } from './claude-terminal.ts'

describe('the options of a Claude in a terminal', () => {
  const wrong: Readonly<Record<string, readonly [options: object, message: RegExp]>> = {
    'no object': [null as never, /give options as an object/],
    'a name that is not known': [{ comand: 'claude' }, /'comand'.*'command'/],
    'a session that is no UUID': [{ session: 'mine' }, /session is "mine", which is no UUID/],
    'a copy of what is no UUID': [{ copyOf: '1' }, /copyOf is "1"/],
    'an unknown mode': [{ permissionMode: 'yolo' }, /permissionMode is "yolo"; give one of default/],
    'settings that are none': [{ settings: null }, /settings is no object/],
    'an argument that the node sets': [{ args: ['--resume', 'x'] }, /args is with --resume/],
    'an argument that makes it another program': [{ args: ['-p'] }, /args is with -p/],
    'a pane of somebody else': [{ in: { mux: 'tmux', pane: '%1' } }, /in\.pane is a pane that is there already/],
    'a time that is none': [{ timeout: 'soon' }, /timeout/],
  }
  for (const [what, [options, message]] of Object.entries(wrong))
    it(`are refused with ${what}`, () => {
      expect(() => claudeTerminal('coder', options)).toThrow(message)
    })

  it('are told by info without the values of variables', () => {
    const node = claudeTerminal('coder', { env: { TOKEN: 'hidden' }, args: ['--model', 'opus'], timeout: '1m' })
    const { config } = node.info()
    expect(config).toMatchObject({ env: ['TOKEN'], args: ['--model', 'opus'], timeout: 60_000, session: node.session })
    expect(JSON.stringify(node.info())).not.toContain('hidden')
    expect(node.policy).toEqual({ effect: 'resumable', recordInput: true })
  })

  it('make another conversation for each node, and for each copy', () => {
    const one = claudeTerminal('one')
    const copy = one.fork('copy')
    expect(new Set([one.session, claudeTerminal('two').session, copy.session]).size).toBe(3)
    expect(copy.info()).toMatchObject({ forkedFrom: 'one', config: { copyOf: one.session } })
    expect(() => one.fork('a/b')).toThrow(/not an id/)
  })

  it('do not replace a prompt', async () => {
    const node = claudeTerminal('coder')
    for (const input of ['', '  ', undefined, 3, { text: 'hi' }, []])
      await expect(node.execute(input as never)).rejects.toMatchObject({ code: 'bad-input' })
    expect(node.state).toBe('created')
  })
})

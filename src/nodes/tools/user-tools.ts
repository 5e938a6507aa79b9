/** Tools that every model can be given: asking the people of the run, and reading what they wrote meanwhile. */
import type { Context, Definition } from '../../engine/definition.ts'
import { tool, type Tool, type ToolOptions } from './tool.ts'

interface Question {
  readonly question: string
  readonly choices?: readonly string[]
}

const QUESTION = {
  type: 'object',
  properties: {
    question: { type: 'string', minLength: 1, description: 'What to ask, in full.' },
    choices: {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      minItems: 2,
      uniqueItems: true,
      description: 'The answers to choose from. Leave it out for a free answer.',
    },
  },
  required: ['question'],
  additionalProperties: false,
}

type UserToolOptions = Pick<ToolOptions, 'name' | 'description'>

/** Asks a person, and waits for the answer for as long as it takes. Its name is `ask_user`. */
export function askUser(options: UserToolOptions = {}): Tool {
  const asking = definition<Question>('ask_user', async (ctx, { question, choices }) =>
    ctx.ask(question, choices === undefined ? {} : { choices }),
  )
  return tool(asking, {
    description: 'Asks the user a question and gives the answer. Use it when you cannot go on without knowing.',
    input: QUESTION,
    ...options,
  })
}

/** Gives what people wrote to the run since it was last used. Its name is `get_user_messages`. */
export function getUserMessages(options: UserToolOptions = {}): Tool {
  const reading = definition('get_user_messages', (ctx) => ctx.messages())
  return tool(reading, {
    description: 'Gives the messages that the user has sent since you last looked. The list may be empty.',
    input: { type: 'object', properties: {}, additionalProperties: false },
    ...options,
  })
}

function definition<Input>(
  name: string,
  run: (ctx: Context<Input>, input: Input) => Promise<unknown>,
): Definition<Input> {
  return { kind: 'tool', name, options: {}, run }
}

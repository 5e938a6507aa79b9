/**
 * What the scripted model of the tour says, reply by reply. Which reply it is follows from the conversation alone: the model
 * remembers nothing, so a process that goes on after another died gets the next one.
 */
import type { Script } from 'nerve/gateway'

export const script: Script = {
  usage: { input: 640, output: 60 },
  rules: [
    {
      when: { user: 'write about (\\w+)' },
      steps: [
        { say: 'First I look at the notes.', call: { tool: 'look_up', input: { words: '{{1}}' } } },
        { say: 'And where it grows.', call: { tool: 'look_up', input: { words: '{{1}} in shade' } } },
        { call: { tool: 'ask_user', input: { question: 'How long may it be?', choices: ['short', 'long'] } } },
        { call: { tool: 'publish', input: { title: 'On {{1}}' } } },
        { say: 'Moss is green, and it grows in the shade.' },
      ],
    },
  ],
}

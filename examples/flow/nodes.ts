/** The nodes of flow.yaml. */
import { defineNode } from 'nerve'

export interface Draft {
  readonly text: string
  readonly score: number
}

export const write = defineNode(
  'write',
  ({ topic, tone }: { topic: string; tone: string }): Draft => ({ text: `A ${tone} text about ${topic}`, score: 5 }),
  { description: 'writes a draft' },
)

export const review = defineNode(
  'review',
  ({ text, score }: Draft): Draft => ({ text: `${text}, improved`, score: score + 2 }),
  { description: 'improves a draft' },
)

export const publish = defineNode(
  'publish',
  ({ text }: { text: string; words: number }) => ({ url: `https://example.com/${text.length}` }),
  { description: 'publishes a text', effect: 'once' },
)

/**
 * One analyst looks at the data; two copies of it go on from there with different orders; a third node compares them.
 * A copy knows everything that the original had heard when it was made, and nothing that it heard later.
 *
 *     nerve run examples/ab-fork.ts --input "sales"
 */
import { defineNode, type Node } from 'nerve'
import { Fork } from 'nerve/control'
import { graph } from 'nerve/graph'

/** Remembers everything that it was told: a stand-in for a conversation. */
function analyst(id: string, heard: readonly string[] = []): Node<string, string> {
  const memory = [...heard]
  return defineNode(
    id,
    (text: string) => {
      memory.push(text)
      return memory.join(' | ')
    },
    { persistent: true, fork: (copy) => analyst(copy, memory) },
  )
}

const original = analyst('analyst')
const compare = defineNode(
  'compare',
  (both: { careful: string; bold: string }) => `careful: ${both.careful}\nbold: ${both.bold}`,
)

export default graph<string>('ab-fork')
  .step('analyse', original, { inputFn: (_, { input }) => `look at the ${input}` })
  .step('fork-careful', Fork({ id: 'fork-careful', from: original, to: 'careful-{run_id}' }), { after: ['analyse'] })
  .step('fork-bold', Fork({ id: 'fork-bold', from: original, to: 'bold-{run_id}' }), { after: ['fork-careful'] })
  .ref<string, 'careful', 'fork-careful'>('careful', 'careful-{run_id}', {
    after: ['fork-careful'],
    input: 'change little',
  })
  .ref<string, 'bold', 'fork-bold'>('bold', 'bold-{run_id}', { after: ['fork-bold'], input: 'change much' })
  .step('compare', compare, { after: ['careful', 'bold'], inputFn: ({ careful, bold }) => ({ careful, bold }) })

/** Which control node some data is: as its `kind` says, or as its fields do. */
import { nearest } from '../../base/nearest.ts'
import type { ControlForm } from '../control/control.ts'

export type Picked = { readonly form: ControlForm } | { readonly problem: string }

const NOT_FIELDS: readonly string[] = ['kind', 'id']

export function pickForm(data: Readonly<Record<string, unknown>>, forms: readonly ControlForm[]): Picked {
  const kinds = forms.map(({ kind }) => kind)
  const { kind } = data
  if (kind !== undefined) {
    const form = forms.find((one) => one.kind === kind)
    if (form !== undefined) return { form }
    const near = typeof kind === 'string' ? nearest(kind, kinds) : undefined
    const hint = near === undefined ? `Known: ${kinds.join(', ')}.` : `Did you mean '${near}'?`
    return { problem: `there is no kind ${JSON.stringify(kind)}. ${hint}` }
  }
  const keys = Object.keys(data).filter((key) => !NOT_FIELDS.includes(key))
  if (keys.length === 0) return { problem: `has nothing to run: give node, graph, or a kind (${kinds.join(', ')}).` }
  const complete = forms.filter(
    ({ fields, required }) =>
      keys.every((key) => Object.hasOwn(fields, key)) && required.every((key) => keys.includes(key)),
  )
  if (complete.length > 0) return only(complete, kinds)
  // Something is missing or wrong: the form that it has most of is the one that was meant.
  const likeness = forms.map((form) => ({ form, common: keys.filter((key) => Object.hasOwn(form.fields, key)).length }))
  const most = Math.max(...likeness.map(({ common }) => common))
  if (most === 0) return { problem: `has nothing to run: give node, graph, or a kind (${kinds.join(', ')}).` }
  return only(
    likeness.filter(({ common }) => common === most).map(({ form }) => form),
    kinds,
  )
}

function only(forms: readonly ControlForm[], kinds: readonly string[]): Picked {
  const [form] = forms
  if (forms.length === 1 && form !== undefined) return { form }
  return {
    problem: `could be several: say kind: ${(forms.length === 0 ? kinds : forms.map(({ kind }) => kind)).join(', or ')}.`,
  }
}

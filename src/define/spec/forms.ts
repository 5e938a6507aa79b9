/** Every control node that a spec can have. */
import { agentLoopForm } from '../agent-loop.ts'
import type { ControlForm } from '../control/control.ts'
import { CONTROL_FORMS } from '../control/forms.ts'
import { planForm } from './plan.ts'

export const FORMS: readonly ControlForm[] = [...CONTROL_FORMS, agentLoopForm, planForm]

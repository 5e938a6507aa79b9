/** That the adapter for the protocol is for any agent: a second one that speaks it. */
import { conforms } from './conforms.ts'

conforms('opencode over ACP')

import { conforms } from './conforms.ts'

conforms('codex')

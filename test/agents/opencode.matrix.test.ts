import { conforms } from './conforms.ts'

conforms('opencode')

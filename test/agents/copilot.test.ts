import { conforms } from './conforms.ts'

conforms('copilot')

import { conforms } from './conforms.ts'

conforms('gemini')

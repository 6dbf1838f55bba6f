export type { ConversionNote, ConversionNoteKind, ConversionOptions } from './formats/conversion.ts'

import { headOf } from '../../messages/characters.ts'
import { MAX_NAME_LENGTH } from '../../messages/check.ts'

/** A text of a file as a label: short, and nothing a database cannot hold. */
export function labelOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const label = headOf(text.replaceAll('\0', ' ').toWellFormed(), MAX_NAME_LENGTH).trim()
  return label === '' ? undefined : label
}

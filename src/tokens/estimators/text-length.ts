import { z } from 'zod'

/** What a length is counted in: UTF-16 units (default, checklist C-21), or the UTF-8 bytes the Rust originals count. */
const LENGTH_UNITS = ['utf16', 'utf8'] as const
export type LengthUnit = (typeof LENGTH_UNITS)[number]

export const lengthUnitSchema = z.enum(LENGTH_UNITS)

/** The length of a text in UTF-16 units or UTF-8 bytes. A lone surrogate is three bytes, as its replacement is. */
export function lengthIn(text: string, unit: LengthUnit): number {
  return unit === 'utf16' ? text.length : Buffer.byteLength(text, 'utf8')
}

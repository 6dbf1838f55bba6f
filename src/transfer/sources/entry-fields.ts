import { isStorableText, MAX_NAME_LENGTH } from '../../core/check.ts'

/* Fields that entries of several systems have, read as sessions and messages can hold them. */

/** A time, in milliseconds since 1970, of a number of such or a date as text; `undefined` for what is neither. */
export function timeOf(value: unknown): number | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : value
  return typeof time === 'number' && Number.isSafeInteger(time) && time >= 0 ? time : undefined
}

/** A text as the title of a session, cut to what one can hold; `undefined` for what cannot be one. */
export function titleOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const title = value.trim().slice(0, MAX_NAME_LENGTH).toWellFormed()
  return title === '' || !isStorableText(title) ? undefined : title
}

/** A name (of a model, a provider) that a session can hold; `undefined` for what is none. */
export function nameOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '' || value.length > MAX_NAME_LENGTH) return undefined
  return isStorableText(value) ? value : undefined
}

import type { z } from 'zod'

/*
 * Cursors: an opaque text that marks the start of the next page. The decoded value is validated, because a model or a client may have
 * changed it.
 */

/** Encodes a JSON value as a cursor. */
export function encodeCursor(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** Decodes a cursor. Returns `undefined` if it is not a cursor of this shape. */
export function decodeCursor<S extends z.ZodType>(schema: S, cursor: string): z.output<S> | undefined {
  try {
    return schema.safeParse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))).data
  } catch {
    return undefined
  }
}

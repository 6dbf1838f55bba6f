import type { z } from 'zod'

/*
 * The one form of cursors: an opaque text that names the place of the next page. What it holds is checked when it comes back, because
 * a model or a client may have changed it.
 */

/** A cursor for JSON values. */
export function encodeCursor(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** What a cursor holds; `undefined` for a text that is not a cursor of this shape. */
export function decodeCursor<S extends z.ZodType>(schema: S, cursor: string): z.output<S> | undefined {
  try {
    return schema.safeParse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))).data
  } catch {
    return undefined
  }
}

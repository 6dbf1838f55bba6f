import { z } from 'zod'
import { labelSchema, nameSchema } from '../core/messages/check.ts'

/** Where a copy of a conversation ends: after or before a message, which an adapter names by its framework's id. */
export type MessagePlace = { readonly afterMessage: string } | { readonly beforeMessage: string }

export const forkTitleSchema = labelSchema.optional()
export const messagePlaceSchema: z.ZodType<MessagePlace, MessagePlace> = z.union(
  [z.strictObject({ afterMessage: nameSchema }), z.strictObject({ beforeMessage: nameSchema })],
  'must be { afterMessage } or { beforeMessage }, with the id of a message',
)

/** The moment after the last row of a message, or before its first one. */
export function besideRows(rows: readonly { readonly id: string }[], isAfter: boolean): MessagePlace {
  return isAfter ? { afterMessage: rows.at(-1)!.id } : { beforeMessage: rows[0]!.id }
}

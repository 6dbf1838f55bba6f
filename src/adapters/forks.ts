import { z } from 'zod'
import { UndertextError } from '../core/errors.ts'
import { labelSchema, nameSchema } from '../core/messages/check.ts'
import { defined } from '../core/messages/json.ts'
import type { Store } from '../store/store.ts'

/** Where a copy of a conversation ends: after or before a message, which an adapter names by its framework's id. */
export type MessagePlace = { readonly afterMessage: string } | { readonly beforeMessage: string }

export const forkTitleSchema = labelSchema.optional()
export const messagePlaceSchema: z.ZodType<MessagePlace, MessagePlace> = z.union(
  [z.strictObject({ afterMessage: nameSchema }), z.strictObject({ beforeMessage: nameSchema })],
  'must be { afterMessage } or { beforeMessage }, with the id of a message',
)

/**
 * Copies a session, as it is or up to a place, and returns the id of the copy. `rowsOf` returns the rows of the
 * message that the place names. Throws `MESSAGE_NOT_FOUND` if there are none.
 */
export async function forkBeside<Name extends string | number>(
  store: Pick<Store, 'sessions'>,
  sessionId: string,
  named: { readonly id?: string | undefined; readonly title?: string | undefined },
  place: { readonly afterMessage: Name } | { readonly beforeMessage: Name } | undefined,
  rowsOf: (name: Name) => Promise<readonly { readonly id: string }[] | undefined>,
): Promise<string> {
  let at: MessagePlace | undefined
  if (place !== undefined) {
    const isAfter = 'afterMessage' in place
    const name = isAfter ? place.afterMessage : place.beforeMessage
    const rows = await rowsOf(name)
    if (rows === undefined)
      throw new UndertextError('MESSAGE_NOT_FOUND', { sessionId, messageId: String(name) })
    at = isAfter ? { afterMessage: rows.at(-1)!.id } : { beforeMessage: rows[0]!.id }
  }
  const { id } = await store.sessions.fork(sessionId, defined({ ...named, at }))
  return id
}

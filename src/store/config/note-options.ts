import { z } from 'zod'
import {
  jsonObjectSchema,
  MAX_NAME_BYTES,
  nameSchema,
  newNameSchema,
  newOwnerOption,
  ownerOption,
} from '../../core/messages/check.ts'
import { authorshipSchema } from './store-options.ts'

/* The options of the methods for notes. */

/** The longest note, UTF-16 units: it is read whole at every recall. */
const MAX_NOTE_LENGTH = 20_000
/** The longest query; the search reads less of it. */
const MAX_QUERY_LENGTH = 1_000_000

export const noteTextSchema = z
  .string()
  .max(MAX_NOTE_LENGTH, `must not be longer than ${MAX_NOTE_LENGTH} characters`)
  .refine((text) => text.trim() !== '', 'must not be empty')
export const noteQuerySchema = z
  .string()
  .max(MAX_QUERY_LENGTH, `must not be longer than ${MAX_QUERY_LENGTH} characters`)
  .optional()

const scopeShape = { session: nameSchema.optional(), owner: newOwnerOption }

/** Whether exactly one is given. */
function hasOneScope({ session, owner }: { session?: unknown; owner?: unknown }): boolean {
  return (session === undefined) !== (owner === undefined)
}
const ONE_SCOPE = 'must name either a session or an owner'

const sourceSchema = z.strictObject({ sessionId: nameSchema, messageId: nameSchema })

export const addNoteSchema = z
  .strictObject({
    /** The session whose note it is. */
    session: scopeShape.session,
    /** The owner whose note it is: it applies to all sessions of the owner. */
    owner: scopeShape.owner,
    /** The note replaces the current one of this key. */
    key: newNameSchema.optional(),
    /** The message that it is from: an id in the session, or session and message. */
    source: z
      .union([nameSchema, sourceSchema], 'must be a message id, or { sessionId, messageId }')
      .optional(),
    metadata: jsonObjectSchema.optional(),
    ...authorshipSchema.shape,
  })
  .refine(hasOneScope, ONE_SCOPE)
  .refine(({ source, session }) => typeof source !== 'string' || session !== undefined, {
    path: ['source'],
    message: 'must be { sessionId, messageId } for a note of an owner',
  })
  // An index holds both.
  .refine(
    ({ owner = '', key = '' }) => Buffer.byteLength(owner) + Buffer.byteLength(key) <= MAX_NAME_BYTES,
    `owner and key together must not be longer than ${MAX_NAME_BYTES} bytes in UTF-8`,
  )

export const listNotesSchema = z
  .strictObject({
    /** The notes of a session, and those of its owner. */
    session: nameSchema.optional(),
    /** The notes of an owner. */
    owner: ownerOption,
    /** Only notes of this key. */
    key: nameSchema.optional(),
    /** Only notes that contain its words, best first. */
    query: noteQuerySchema,
    /** Maximum number of notes. */
    limit: z.int().positive().max(10_000).default(20),
    /** Whether replaced and forgotten notes are included. */
    all: z.boolean().default(false),
  })
  .refine(hasOneScope, ONE_SCOPE)

export const forgetNoteSchema = z.strictObject({
  /** Whether the text is removed for good, with the notes of its key before it. Otherwise it stays stored and is no longer recalled. */
  purge: z.boolean().default(false),
  ...authorshipSchema.shape,
})

/** Options of `notes.add`. */
export type AddNoteOptions = z.input<typeof addNoteSchema>
/** Options of `notes.list`. */
export type ListNotesOptions = z.input<typeof listNotesSchema>
/** Options of `notes.forget`. */
export type ForgetNoteOptions = z.input<typeof forgetNoteSchema>

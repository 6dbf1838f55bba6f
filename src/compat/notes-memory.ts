import { z } from 'zod'
import { check, jsonObjectSchema, nameSchema } from '../core/messages/check.ts'
import { defined, type JsonObject } from '../core/messages/json.ts'
import { storeSchema } from '../store/arguments.ts'
import type { ListedNote } from '../store/notes.ts'
import type { Store } from '../store/store.ts'
import type { LongTermMemory, Memory } from './history-manager.ts'

/** The part of a store that the memory uses. */
export type NoteStore = Pick<Store, 'notes'>

const noteStoreSchema = storeSchema<NoteStore>('notes')
const whoseSchema = z.union(
  [z.strictObject({ session: nameSchema }), z.strictObject({ owner: nameSchema })],
  'must be { session } or { owner }',
)
const entrySchema = z.strictObject({
  type: z.string().min(1).max(200),
  content: z.string(),
  /** The conversation that the memory comes from. */
  sessionId: nameSchema.optional(),
  /** The memory replaces the one with this key. */
  key: nameSchema.optional(),
  metadata: jsonObjectSchema.optional(),
})
const filtersSchema = z
  .strictObject({
    /** Only memories with this type. */
    type: z.string().optional(),
    /** Only memories from this conversation. */
    sessionId: nameSchema.optional(),
    key: nameSchema.optional(),
  })
  .nullish()

/** Selects memories that match all given fields; without fields, all memories. */
export type MemoryFilters = z.input<typeof filtersSchema>

/** A memory to store. */
export type NewMemory = z.input<typeof entrySchema>

/** A recalled memory. */
export type StoredMemory = Memory & {
  readonly id: string
  readonly sessionId?: string
  readonly owner?: string
  readonly key?: string
  readonly metadata?: JsonObject
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** Higher for a better match. */
  readonly score?: number
}

/** A `LongTermMemory` over the notes of a store. */
export interface NotesMemory extends LongTermMemory {
  /** Returns the best memories for a text; with an empty text, the newest. */
  recall(query: string, topK: number, filters?: unknown): Promise<StoredMemory[]>
  store(memory: NewMemory): Promise<StoredMemory>
  /** Forgets memories, which stay stored (`Notes.forget`). Returns their number. */
  forget(filters?: MemoryFilters): Promise<number>
}

/** The type of notes that weren't stored by a memory. */
const NOTE_TYPE = 'note'
const MAX_NOTES = 10_000

/**
 * Returns a memory for a `HistoryManager` over the notes of a session or of an owner: `{ session }` or `{ owner }`. Notes that weren't
 * stored by a memory have the type `note`. Throws `INVALID_INPUT`; its methods throw the store's errors.
 */
export function notesMemory(
  store: NoteStore,
  whose: { readonly session: string } | { readonly owner: string },
): NotesMemory {
  const { notes } = check(noteStoreSchema, store, 'notesMemory: store')
  const scope = check(whoseSchema, whose, 'notesMemory')
  const found = async (query: string | undefined, filters: unknown): Promise<StoredMemory[]> => {
    const { type, sessionId, key } = check(filtersSchema, filters, 'filters') ?? {}
    const listed = await notes.list({ query, ...scope, limit: MAX_NOTES, ...defined({ key }) })
    return listed
      .map(memoryOf)
      .filter(
        (one) =>
          (type === undefined || one.type === type) &&
          (sessionId === undefined || one.sessionId === sessionId),
      )
  }
  return {
    recall: async (query, topK, filters) => (await found(query, filters)).slice(0, topK),
    store: async (memory) => {
      const { type, content, sessionId, key, metadata } = check(entrySchema, memory, 'store')
      const about = { ...metadata, type, ...defined({ sessionId }) }
      return memoryOf(await notes.add(content, { ...scope, ...defined({ key }), metadata: about }))
    },
    forget: async (filters) => {
      const all = await found(undefined, filters)
      // Notes of the owner are recalled for a session, but don't belong to it.
      const own = all.filter(({ owner }) => 'owner' in scope || owner === undefined)
      for (const { id } of own) await notes.forget(id)
      return own.length
    },
  }
}

function memoryOf({ id, text, metadata = {}, ...note }: ListedNote): StoredMemory {
  const { owner, key, createdAt, score } = note
  const { type, sessionId = note.sessionId, ...rest } = metadata
  return {
    ...{ id, type: typeof type === 'string' ? type : NOTE_TYPE, content: text },
    ...(typeof sessionId === 'string' && { sessionId }),
    ...defined({ owner, key, metadata: Object.keys(rest).length > 0 ? rest : undefined }),
    ...{ createdAt, ...defined({ score }) },
  }
}

import { z } from 'zod'
import { check, jsonObjectSchema, nameSchema } from '../core/messages/check.ts'
import type { JsonObject } from '../core/messages/json.ts'
import { storeSchema } from '../store/arguments.ts'
import type { ListedNote } from '../store/notes.ts'
import type { Store } from '../store/store.ts'
import type { LongTermMemory, Memory } from './history-manager.ts'

/** The part of a store that the memory uses. */
export type NoteStore = Pick<Store, 'notes'>

const noteStoreSchema = storeSchema<NoteStore>('notes')
const whoseSchema = z.union(
  [z.strictObject({ session: nameSchema }), z.strictObject({ owner: nameSchema })],
  'must name either a session or an owner',
)
const entrySchema = z.strictObject({
  type: z.string().min(1).max(200),
  content: z.string(),
  /** The conversation that it is from. */
  sessionId: nameSchema.optional(),
  /** It replaces the memory of this key. */
  key: nameSchema.optional(),
  metadata: jsonObjectSchema.optional(),
})
const filtersSchema = z
  .strictObject({
    /** Only memories of this type. */
    type: z.string().optional(),
    /** Only memories from this conversation. */
    sessionId: nameSchema.optional(),
    key: nameSchema.optional(),
  })
  .nullish()

/** Which memories: those with all of the given fields; without any, all. */
export type MemoryFilters = z.input<typeof filtersSchema>

/** A memory as it is stored. */
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
  /** The best memories for a text; without one the newest. */
  recall(query: string, topK: number, filters?: unknown): Promise<StoredMemory[]>
  store(memory: NewMemory): Promise<StoredMemory>
  /** Forgets memories, which stay stored (`Notes.forget`); returns their number. */
  forget(filters?: MemoryFilters): Promise<number>
}

/** The type of notes that were not stored by a memory. */
const NOTE_TYPE = 'note'
const MOST = 10_000

/**
 * The memory of a `HistoryManager` over the notes of a session, or of an owner: `{ session }` or `{ owner }`. Notes of other origin are
 * memories of the type `note`. Throws `INVALID_INPUT`, and its methods what those of the store throw.
 */
export function notesMemory(
  store: NoteStore,
  whose: { readonly session: string } | { readonly owner: string },
): NotesMemory {
  const { notes } = check(noteStoreSchema, store, 'notesMemory: store')
  const scope = check(whoseSchema, whose, 'notesMemory')
  const found = async (query: string | undefined, filters: unknown): Promise<StoredMemory[]> => {
    const { type, sessionId, key } = check(filtersSchema, filters, 'filters') ?? {}
    const listed = await notes.list({ query, ...scope, limit: MOST, ...(key !== undefined && { key }) })
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
      const about = { ...metadata, type, ...(sessionId !== undefined && { sessionId }) }
      return memoryOf(
        await notes.add(content, { ...scope, ...(key !== undefined && { key }), metadata: about }),
      )
    },
    forget: async (filters) => {
      const all = await found(undefined, filters)
      // Those of its owner are recalled for a session, and are not the session's.
      const own = all.filter(({ owner }) => 'owner' in scope || owner === undefined)
      for (const { id } of own) await notes.forget(id)
      return own.length
    },
  }
}

function memoryOf({ id, text, metadata = {}, ...note }: ListedNote): StoredMemory {
  const { type, sessionId = note.sessionId, ...rest } = metadata
  return {
    ...{ id, type: typeof type === 'string' ? type : NOTE_TYPE, content: text },
    ...(typeof sessionId === 'string' && { sessionId }),
    ...(note.owner !== undefined && { owner: note.owner }),
    ...(note.key !== undefined && { key: note.key }),
    ...(Object.keys(rest).length > 0 && { metadata: rest }),
    createdAt: note.createdAt,
    ...(note.score !== undefined && { score: note.score }),
  }
}

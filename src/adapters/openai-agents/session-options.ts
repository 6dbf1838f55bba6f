import { z } from 'zod'
import {
  functionSchema,
  labelSchema,
  modelShape,
  nameSchema,
  ownerOption,
} from '../../core/messages/check.ts'
import { type InsertedRole, SUMMARY_PRESETS } from '../../core/rendering/summary-heading.ts'
import { storeSchema } from '../../store/arguments.ts'
import type { CompactOptions } from '../../store/config/store-options.ts'
import type { Store } from '../../store/store.ts'
import type { ConversionNote } from '../conversion.ts'
import { forkTitleSchema } from '../forks.ts'
import type { RecoveringStore } from '../recovering.ts'

/** The store methods that a session needs. */
export type SessionStore = RecoveringStore &
  Pick<
    Store,
    | 'append'
    | 'compactSession'
    | 'sessions'
    | 'getEffectiveHistory'
    | 'getMessages'
    | 'listCompactions'
    | 'needsCompaction'
    | 'rewind'
  >

export const sessionSchema = z.strictObject({
  store: storeSchema<SessionStore>('rewind'),
  /** The session's id in the store. The session is created when the first item is added. Default: a new UUID. */
  sessionId: nameSchema.optional(),
  /**
   * What `getItems` returns: the effective history (default), or with `'full'` all messages that were not rewound, as if nothing had been
   * compacted. The other methods always work on the effective history.
   */
  view: z.enum(['effective', 'full']).optional(),
  /**
   * Whether to compact when due, after each turn that the SDK's runner stored: `true` (default) with the store's settings, options with
   * those, `false` never.
   */
  compact: z
    .union([z.boolean(), z.custom<CompactOptions>((value) => typeof value === 'object' && value !== null)])
    .optional(),
  /** Receives the error when a compaction after a turn fails. The turn stays stored. Default: a process warning. */
  onCompactionError: functionSchema<(error: unknown) => void>().optional(),
  /**
   * The model that is called. It decides when compaction is due, and is recorded if the session has no model yet. Default: the session's
   * own, else "openai".
   */
  ...modelShape,
  /**
   * The owner. Only this owner's sessions are found, and new ones belong to the owner.
   */
  owner: ownerOption,
  /** How a summary is shown. Default: a user's message, marked as a record of the earlier conversation. */
  summaryRole: z.enum(['system', 'user', 'assistant'] satisfies InsertedRole[]).optional(),
  summaryHeader: labelSchema.optional(),
  preset: z.enum(SUMMARY_PRESETS).optional(),
  /** The actor that the audit names for rewinds. */
  actor: nameSchema.optional(),
  /** Receives notes about items that were kept whole, and about messages from elsewhere that were changed or not sent. */
  onNote: functionSchema<(note: ConversionNote) => void>().optional(),
})
/** Options of an `UndertextSession`. */
export type UndertextSessionOptions = z.input<typeof sessionSchema>

/** An item: its place in the list of `getItems`, from 0, or its id. */
const itemSchema = z.union([z.int().nonnegative(), nameSchema])

export const sessionForkSchema = z.strictObject({
  /** After or before an item, named by its place in the list of `getItems`, from 0, or by its id. Default: the session as it is now. */
  at: z
    .union(
      [z.strictObject({ afterItem: itemSchema }), z.strictObject({ beforeItem: itemSchema })],
      'must be { afterItem } or { beforeItem }, with the place or the id of an item',
    )
    .optional(),
  /** The id of the new session. Default: a UUID. */
  sessionId: nameSchema.optional(),
  /** The title of the new session. Default: the title of the original. */
  title: forkTitleSchema,
})
/** Options of `fork` of a session: where the copy ends, its id and its title. */
export type SessionForkOptions = z.input<typeof sessionForkSchema>

import { z } from 'zod'
import type { CompactOptions } from '../../config/store-options.ts'
import { labelSchema, nameSchema } from '../../messages/check.ts'
import type { InsertedRole, SummaryPreset } from '../../rendering/rows.ts'
import { SUMMARY_PRESETS } from '../../rendering/rows.ts'
import { storeSchema } from '../../store/arguments.ts'
import type { Store } from '../../store/store.ts'
import type { ConversionNote } from '../conversion.ts'
import type { RecoveringStore } from '../recovering.ts'

/** What a session needs of a store. */
export type SessionStore = RecoveringStore &
  Pick<
    Store,
    | 'append'
    | 'compactSession'
    | 'getEffectiveHistory'
    | 'getMessages'
    | 'listCompactions'
    | 'needsCompaction'
    | 'rewind'
  >

/** Where a session's items are kept, and how it shows them. */
export type UndertextSessionOptions = {
  readonly store: SessionStore
  /** The session's id in the store; made when the first item is added. Default: a new uuid. */
  readonly sessionId?: string | undefined
  /**
   * What `getItems` answers: the effective history (default), or with `'full'` everything that was said and not taken back, as if
   * nothing had been compacted. The other methods work on the effective history either way.
   */
  readonly view?: 'effective' | 'full' | undefined
  /**
   * Compacts when that is due, after each turn the SDK's runner has stored: with the store's settings (`true`, the default) or
   * these. `false`: never.
   */
  readonly compact?: boolean | CompactOptions | undefined
  /** Hears why a compaction after a turn could not be done. The turn is stored and stands. Default: a warning of the process. */
  readonly onCompactionError?: ((error: unknown) => void) | undefined
  /**
   * The model that is called: says when compaction is due, and is recorded where the session has none yet. Default: the session's own,
   * else "openai".
   */
  readonly provider?: string | undefined
  readonly model?: string | undefined
  /** Whose conversation it is, where the session has no owner yet. */
  readonly owner?: string | undefined
  /** How a summary is shown. Default: a system message under "Previous conversation summary:". */
  readonly summaryRole?: InsertedRole | undefined
  readonly summaryHeader?: string | undefined
  readonly preset?: SummaryPreset | undefined
  /** Who takes items back, in the audit. */
  readonly actor?: string | undefined
  /** Hears of items that were kept whole, and of messages of others that were not sent or changed. */
  readonly onNote?: ((note: ConversionNote) => void) | undefined
}

const called = z.custom<(value: never) => void>((value) => typeof value === 'function', 'must be a function')
const role = z.enum(['system', 'user', 'assistant'])

/** The compaction's own options are checked where it is done. */
export const sessionSchema = z.strictObject({
  store: storeSchema<SessionStore>('rewind'),
  sessionId: nameSchema.optional(),
  view: z.enum(['effective', 'full']).default('effective'),
  compact: z
    .union([z.boolean(), z.custom<CompactOptions>((value) => typeof value === 'object' && value !== null)])
    .default(true),
  onCompactionError: called.optional(),
  provider: nameSchema.optional(),
  model: nameSchema.optional(),
  owner: nameSchema.optional(),
  summaryRole: role.optional(),
  summaryHeader: labelSchema.optional(),
  preset: z.enum(SUMMARY_PRESETS).optional(),
  actor: nameSchema.optional(),
  onNote: called.optional(),
})

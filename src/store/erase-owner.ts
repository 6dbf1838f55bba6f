import { createHmac, randomBytes } from 'node:crypto'
import { z } from 'zod'
import { UndertextError } from '../core/errors.ts'
import { nameSchema } from '../core/messages/check.ts'
import type { OwnedCounts, Storage } from '../storage/storage.ts'
import { discard } from './history/import/staging.ts'
import type { Services } from './services.ts'

export const eraseOwnerSchema = z.strictObject({
  /** Whether only to count what would be removed. */
  dryRun: z.boolean().default(false),
  /** Who erases, for the receipt. */
  actor: nameSchema.optional(),
  /** Ends the work between two sessions; the next call continues. */
  signal: z.instanceof(AbortSignal).optional(),
})
/** Options of `privacy.eraseOwner`. */
export type EraseOwnerOptions = z.input<typeof eraseOwnerSchema>

/** What was removed of an owner; with `dryRun`, what would be. */
export type ErasedOwner = OwnedCounts & {
  /** The keyed hash in place of the owner's name. Absent for a dry run. */
  readonly mark?: string
  /** Present if the removed rows can still be found in the store's files, which are cleared later. */
  readonly filesCleared?: false
}

const PAGE = 500

/** See `Privacy.eraseOwner`. */
export async function eraseOwner(
  { context, background, warnings }: Services,
  owner: string,
  { dryRun, actor, signal }: z.output<typeof eraseOwnerSchema>,
): Promise<ErasedOwner> {
  const storage = context.storageOf(owner)
  const found = await storage.owned.count()
  if (dryRun) return found
  const mark = await markOf(storage, owner)
  const counts = { sessions: 0, messages: 0, compactions: 0 }
  for (const { id } of await storage.importsInProgress()) await discard(storage, id)
  for (let sessions = await next(storage); sessions.length > 0; sessions = await next(storage))
    for (const { id } of sessions) {
      if (signal?.aborted === true) throw new UndertextError('ABORTED', { sessionId: id })
      const { messages, compactions } = await storage.purgeSession(id, {
        ...{
          actor: actor === owner ? mark : actor,
          reason: undefined,
          forks: 'keep',
          clearFiles: false,
          mark,
        },
      })
      counts.sessions += 1
      counts.messages += messages
      counts.compactions += compactions
      warnings.forget(id)
      background.forget(id)
    }
  const rest = await storage.owned.erase({ mark, actor, counts })
  return { ...found, ...counts, ...rest, mark }
}

async function next(storage: Storage): Promise<readonly { readonly id: string }[]> {
  const listed = await storage.listSessions({ archived: false, limit: PAGE })
  return listed.length > 0 ? listed : storage.listSessions({ archived: true, limit: PAGE })
}

/** The key of the hashes, which stays in the store: without it, nobody can find out whether a mark is that of a name. */
const KEY = 'owner-key'

async function markOf(storage: Storage, owner: string): Promise<string> {
  const kept = await storage.histories.mark(KEY)
  const key = kept ?? randomBytes(32).toString('base64url')
  if (kept === undefined) await storage.histories.writeMark(KEY, key)
  return createHmac('sha256', key).update(owner).digest('base64url').slice(0, 22)
}

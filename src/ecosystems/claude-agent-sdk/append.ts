import { isUndertextError } from '../../errors.ts'
import type { NewMessage } from '../../messages/message.ts'
import type { Session } from '../../storage/storage.ts'
import { entryOf } from './entry.ts'
import type { Transcript } from './key.ts'
import { keptOf } from './session-metadata.ts'
import { readTranscript } from './transcript.ts'
import type { TranscriptStore } from './types.ts'

/** How often an append is tried anew because somebody else wrote one of its entries meanwhile. */
const MOST_TRIES = 5

/**
 * Writes what is new of a batch, in order, in one transaction. An entry whose `uuid` the transcript has is left out,
 * whatever it says now.
 */
export async function appendNew(
  store: TranscriptStore,
  { id }: Transcript,
  session: Session,
  messages: readonly NewMessage[],
): Promise<void> {
  let fresh = firstOfEach(messages)
  // What was deleted can come again, though its rows may hold their keys still.
  let isDoubtful = keptOf(session).deleted === true
  for (let tries = 1; ; tries++) {
    if (isDoubtful) fresh = await unknownOf(store, id, fresh)
    if (fresh.length === 0) return
    try {
      await store.append(id, fresh)
      return
    } catch (error) {
      if (!isUndertextError(error, 'IDEMPOTENCY_CONFLICT') || tries === MOST_TRIES) throw error
      isDoubtful = true
    }
  }
}

function firstOfEach(messages: readonly NewMessage[]): readonly NewMessage[] {
  const keys = new Set<string>()
  return messages.filter(({ idempotencyKey }) => {
    if (idempotencyKey === undefined) return true
    if (keys.has(idempotencyKey)) return false
    keys.add(idempotencyKey)
    return true
  })
}

/**
 * The messages whose entries the transcript does not have, under keys that no deleted entry holds: such a row gives its
 * key free where the deletion hides it or what stands for it, and not where a truncation without a marker hid it before.
 */
async function unknownOf(
  store: TranscriptStore,
  id: string,
  messages: readonly NewMessage[],
): Promise<readonly NewMessage[]> {
  const { entries, marks } = await readTranscript(store, id)
  const known = new Set(entries.map(({ entry }) => entry.uuid))
  const last = marks.findLast(({ compactionId }) => compactionId !== undefined)
  return messages.flatMap((message): NewMessage[] => {
    const { idempotencyKey } = message
    if (idempotencyKey === undefined) return [message]
    if (known.has(entryOf(message)?.uuid)) return []
    if (last === undefined) return [message]
    const [plain] = idempotencyKey.split(BEHIND)
    return [{ ...message, idempotencyKey: `${plain}${BEHIND}${last.position}` }]
  })
}

/** Between a key and the position of the deletion it stands behind. No key holds it otherwise. */
const BEHIND = '%-'

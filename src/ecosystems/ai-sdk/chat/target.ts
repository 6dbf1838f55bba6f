import { UndertextError } from '../../../errors.ts'
import { type Given, isKnown, type Standing } from './versions.ts'

/**
 * What to do with a list that does not go on from what stands: it lacks messages, or says others in their place.
 *
 * - `merge` (default): nothing that stands is taken back. What the list knows in a newer version takes the place of the older one, what is
 *   new goes behind.
 * - `replace`: the list is the chat from now on; what it lacks is taken back.
 * - `error`: the save is refused (`HISTORY_DIVERGED`).
 */
export type OnConflict = 'merge' | 'replace' | 'error'

/** A message of the chat as it is to be: one that stands, or one to be stored. */
export type Wanted = Standing | Given

/** What a chat is to be. */
export type Target = {
  readonly messages: readonly Wanted[]
  /** Whether the list did not go on from what stands. */
  readonly isConflict: boolean
}

/**
 * What a chat is to be when a whole list of it is saved. Pure.
 *
 * Where list and log part, these are no conflict but what people do: a list that goes on; a user's message with other words under its own id
 * (an edit); another answer in the place of the last one (made anew); an assistant's last message in a newer version; and whatever comes in
 * the place of `messageId`. An older version of a message changes nothing. Whatever else lacks messages that stand is a conflict: another tab
 * may have written them. Throws `HISTORY_DIVERGED` for that where it is asked for.
 */
export function targetOf(
  chatId: string,
  standing: readonly Standing[],
  given: readonly Given[],
  { onConflict, messageId }: { readonly onConflict: OnConflict; readonly messageId?: string | undefined },
): Target {
  let common = 0
  while (common < given.length && common < standing.length && isKnown(given[common]!, standing[common]!))
    common++
  const known = standing.slice(0, common)
  const whole = (): Target => ({ messages: [...known, ...given.slice(common)], isConflict: false })
  if (common === standing.length) return whole()

  const [next, there] = [given[common], standing[common]!]
  const ids = new Set(given.map(({ message }) => message.id))
  const lacking = standing.slice(common + 1).filter(({ message }) => !ids.has(message.id))
  const isSameId = next?.message.id === there.message.id
  if (messageId !== undefined && messageId === there.message.id) return whole()
  if (next !== undefined) {
    if (isSameId && (next.message.role === 'user' || lacking.length === 0)) return whole()
    const isAnew = next.message.role === 'assistant' && there.message.role === 'assistant'
    const isLast = lacking.every(({ message }) => message.role === 'assistant')
    if (isAnew && isLast && !isSameId && !ids.has(there.message.id)) return whole()
  }
  if (onConflict === 'error') {
    const position = (there.rows[0]?.position ?? 1) - 1
    throw new UndertextError('HISTORY_DIVERGED', {
      sessionId: chatId,
      position,
      why: 'the list lacks messages that were stored since',
    })
  }
  if (onConflict === 'replace') return { ...whole(), isConflict: true }
  return { messages: merged(standing, given), isConflict: true }
}

/** All that stands, in newer versions where there are some, and what is new behind it. */
function merged(standing: readonly Standing[], given: readonly Given[]): Wanted[] {
  const versions = new Map(given.map((one) => [one.message.id, one]))
  const kept = standing.map((there) => {
    const version = versions.get(there.message.id)
    versions.delete(there.message.id)
    return version === undefined || isKnown(version, there) ? there : version
  })
  return [...kept, ...given.filter(({ message }) => versions.has(message.id))]
}

import { textsByRow, withReplacements } from '../messages/overlay.ts'
import type { ChatMessage } from '../model/message-parts.ts'
import { isCondensing, type Plan, type PlannedInsert, type PlannedReplacement } from '../model/plan.ts'
import type { ViewRow } from '../model/view-row.ts'
import { isVisible } from './effective-history.ts'

/** A plan to be laid over an array, with the id its tags get and the row that stands for what it inserts. */
export type ArrayStep = {
  readonly plan: Plan
  readonly id: string
  readonly inserted?: ViewRow
}

/** An array with plans laid over it. */
type AppliedArray = {
  /**
   * Every message of the array, tags laid, summary or marker inserted behind the last message it hides. What is
   * hidden keeps its own text; what is visible shows its replacements.
   */
  readonly tagged: ChatMessage[]
  /** The effective history of `tagged`. */
  readonly messages: ChatMessage[]
}

/** One entry while plans are laid. `anchor` is its index in the array given + 1. */
type Entry = {
  readonly key: number
  readonly anchor: number
  readonly original: ChatMessage
  shown: ChatMessage
  tags: Pick<ChatMessage, 'condenseParent' | 'truncationParent'>
}

/** Lays plans over an array, in order. The array and its objects are not changed. */
export function applySteps(messages: readonly ChatMessage[], steps: readonly ArrayStep[]): AppliedArray {
  const entries: Entry[] = messages.map((message, index) => ({
    key: index + 1,
    anchor: index + 1,
    original: message,
    shown: message,
    tags: {},
  }))
  const byKey = new Map(entries.map((entry) => [entry.key, entry] as const))

  for (const { plan, id, inserted } of steps) {
    for (const [{ key }, texts] of textsByRow(plan.replace)) {
      const entry = byKey.get(key)!
      entry.shown = showing(entry.shown, texts)
    }
    for (const { key } of plan.hide) {
      byKey.get(key)!.tags = isCondensing(plan.kind) ? { condenseParent: id } : { truncationParent: id }
    }
    if (plan.insert === undefined || inserted === undefined) continue
    const message = insertedMessage(plan.insert, id)
    const { key, anchor } = inserted
    const entry: Entry = { key, anchor, original: message, shown: message, tags: {} }
    entries.splice(entries.findLastIndex((other) => other.anchor === anchor) + 1, 0, entry)
    byKey.set(key, entry)
  }

  const tagged = entries.map(({ original, shown, tags }) =>
    Object.keys(tags).length === 0 ? shown : { ...original, ...tags },
  )
  return { tagged, messages: tagged.filter(isVisible) }
}

/** An array whose messages show other texts in place of some of their parts. Untouched ones are the same objects. */
export function replaceParts<M extends ChatMessage>(
  messages: readonly M[],
  replacements: readonly PlannedReplacement[],
): M[] {
  const replaced = [...messages]
  for (const [{ key }, texts] of textsByRow(replacements))
    replaced[key - 1] = showing(replaced[key - 1]!, texts)
  return replaced
}

/** A message whose parts show other texts. Of a flat one only its content can. */
function showing<M extends ChatMessage>(message: M, texts: ReadonlyMap<number, string>): M {
  if (typeof message.content === 'string') return { ...message, content: [...texts.values()].at(-1)! }
  const content = withReplacements(message.content, (part) => texts.get(part))
  return { ...message, content }
}

/** A summary or a marker as a message; `id` is what its tags get. */
export function insertedMessage({ kind, role, text, metadata }: PlannedInsert, id: string): ChatMessage {
  return kind === 'summary'
    ? {
        id: `summary-${id}`,
        role,
        content: text,
        metadata,
        condenseId: id,
      }
    : { id: `truncation-${id}`, role, content: text, truncationId: id, isTruncationMarker: true }
}

import { partsOf } from '../../src/core/messages/message.ts'
import {
  type Compaction,
  type Message,
  type Store,
  type StoredMessage,
  type ViewMessage,
  validateHistory,
} from '../../src/index.ts'
import { findingsOf } from '../support/requests.ts'

/*
 * What must be true of a session whatever was done to it, worked out anew from what the verbs answer: nothing
 * here asks the planner or the laws of `src`.
 */

/** What is not as it must be, in sentences; nothing for a session in order. */
export async function lawBreaks(store: Store, sessionId: string): Promise<string[]> {
  const rows = await store.getMessages(sessionId)
  const view = await store.getEffectiveHistory(sessionId, { provenance: true })
  const compactions = await store.listCompactions(sessionId)
  const inForce = new Map(
    compactions.filter(({ status }) => status === 'active').map((one) => [one.id, one] as const),
  )
  const { findings } = await store.sessions.verify(sessionId)
  const stats = await store.getContextStats(sessionId)
  const breaks = [
    ...findings.map(({ code, detail }) => `sessions.verify: ${code} ${detail}`),
    ...hidingBreaks(rows, new Set(view.map(({ id }) => id)), inForce),
    ...insertedBreaks(view, inForce),
    ...pairBreaks(rows, new Set(view.map(({ id }) => id))),
  ]
  if ((stats?.messageCount ?? 0) !== view.length) breaks.push('the counters count other rows')
  for (const provider of ['anthropic', 'openai'])
    breaks.push(...renderingBreaks((await store.renderHistory(sessionId, { provider })).messages, provider))
  return breaks
}

/** Every row is visible, or hidden by exactly one thing that is so; each compaction hides what it says. */
function hidingBreaks(
  rows: readonly StoredMessage[],
  visible: ReadonlySet<string>,
  inForce: ReadonlyMap<string, Compaction>,
): string[] {
  const breaks: string[] = []
  const hiddenBy = new Map<string, number>()
  for (const { id, kind, condenseParent, truncationParent, retiredBy } of rows) {
    const hiding = [condenseParent, truncationParent, retiredBy].filter((by) => by !== undefined)
    if (hiding.length !== (visible.has(id) ? 0 : 1)) breaks.push(`${id} is hidden by ${hiding.length} things`)
    for (const by of [condenseParent, truncationParent]) {
      if (by === undefined) continue
      hiddenBy.set(by, (hiddenBy.get(by) ?? 0) + 1)
      if (!inForce.has(by)) breaks.push(`${id} is hidden by what is not in force`)
    }
    if (retiredBy !== undefined && inForce.has(retiredBy)) breaks.push(`${id} is retired and in force`)
    if (kind === 'summary' && truncationParent !== undefined) breaks.push(`a truncation hides summary ${id}`)
  }
  for (const [id, { rowsHidden }] of inForce)
    if (hiddenBy.get(id) !== rowsHidden) breaks.push(`${id} says it hid ${rowsHidden}: ${hiddenBy.get(id)}`)
  return breaks
}

/** A summary or marker in the view is of a compaction in force, and nothing it stands for stands beside it. */
function insertedBreaks(view: readonly ViewMessage[], inForce: ReadonlyMap<string, Compaction>): string[] {
  const breaks: string[] = []
  const inLog = new Set(view.flatMap(({ position }) => position ?? []))
  for (const { id, kind, condenseId, truncationId, positions = [] } of view) {
    if (kind === 'message') continue
    if (!inForce.get((condenseId ?? truncationId)!)?.insertedIds.includes(id)) breaks.push(`${id} leaked`)
    if (positions.length === 0) breaks.push(`${id} stands for nothing`)
    for (const [from, to] of positions)
      for (let at = from; at <= to; at++) if (inLog.has(at)) breaks.push(`${at} stands beside ${id}`)
  }
  return breaks
}

/** Call ids are unique in these conversations, so a pair is known by its id. */
function pairBreaks(rows: readonly StoredMessage[], visible: ReadonlySet<string>): string[] {
  const breaks: string[] = []
  const shown = new Map<string, boolean>()
  for (const row of rows) {
    for (const part of partsOf(row)) {
      if (part.type !== 'tool-call' && part.type !== 'tool-result') continue
      const isShown = visible.has(row.id)
      if ((shown.get(part.toolCallId) ?? isShown) !== isShown) breaks.push(`${part.toolCallId} is parted`)
      shown.set(part.toolCallId, isShown)
    }
  }
  return breaks
}

function renderingBreaks(messages: readonly Message[], provider: string): string[] {
  const breaks = [
    ...validateHistory(messages, provider).map(({ code }) => `for ${provider}: ${code}`),
    ...findingsOf(messages, provider).map(
      ({ rule, path, form }) => `for ${provider}, ${form}: ${rule} at ${path}`,
    ),
  ]
  if (provider !== 'anthropic') return breaks
  const sides = messages
    .filter(({ role }) => role !== 'system')
    .map(({ role }) => (role === 'assistant' ? 'assistant' : 'user'))
  if (sides.some((side, at) => side === sides[at + 1])) breaks.push('two turns of one role')
  return breaks
}

import {
  isSilent,
  outputText,
  type Part,
  partsOf,
  type StoredMessage,
} from '../../../core/messages/message.ts'
import { withReplacements } from '../../../core/messages/overlay.ts'
import { dependsOn } from '../../../core/model/coverage.ts'
import type { Moment } from '../../../core/model/moment.ts'
import type { Compaction } from '../../../storage/storage.ts'
import type { Store } from '../../../store/store.ts'
import { CliError } from '../../errors.ts'
import { viewContent } from '../../output/message-text.ts'
import type { TokenCounter } from '../../token-counter.ts'

/** The text that a compaction shows for a part; `null` for the original. */
type Replacement = {
  readonly compactionId: string
  readonly messageId: string
  readonly part: number
  readonly text: string | null
}

/** All that is stored of a session: rows in the order of the view, compactions in the order in which they first came into force. */
type StoredHistory = {
  readonly rows: readonly StoredMessage[]
  readonly compactions: readonly Compaction[]
  readonly replacements: readonly Replacement[]
}

/** A row as a view shows it. */
export type SeenRow = { readonly row: StoredMessage; readonly content: string | readonly Part[] }

/** A row of two views: the same in both, in one alone, or with other texts. */
export type Difference =
  | { readonly change: 'same' | 'removed' | 'added'; readonly seen: SeenRow }
  | {
      readonly change: 'replaced'
      readonly seen: SeenRow
      readonly parts: readonly { readonly part: number; readonly before: string; readonly after: string }[]
    }

export type Comparison = {
  readonly targets: readonly Compaction[]
  /** The second view: with the targets alone, as it is now, or as a redo would make it. */
  readonly after: 'with' | 'now' | 'redone'
  /** Compactions in force that build on the targets: in neither view, or with `now` in the second. */
  readonly dependents: readonly string[]
  readonly rows: { readonly before: number; readonly after: number }
  /** Tokens of the views; `undefined` if the session's estimator is not available. */
  readonly tokens: { readonly before: number | undefined; readonly after: number | undefined }
  readonly differences: readonly Difference[]
}

/** Compares the views of a session without a compaction, or all of a run, and with it. */
export async function compare(
  store: Store,
  id: string,
  target: string,
  now: boolean,
  tokens: TokenCounter | undefined,
): Promise<Comparison> {
  const compactions = await store.listCompactions(id)
  // Bookkeeping of an agent is in no view.
  const rows = (await store.getMessages(id)).filter((row) => !isSilent(row))
  const history = { rows, compactions, replacements: await storedReplacements(store, id) }
  const members = compactions.filter((one) => one.id === target || one.runId === target)
  const active = new Set(compactions.filter(({ status }) => status === 'active').map((one) => one.id))
  const activeMembers = members.filter((one) => active.has(one.id))
  const isInForce = activeMembers.length > 0
  const targets = isInForce ? activeMembers : members.filter(({ status }) => status === 'undone')
  if (targets.length === 0)
    throw new CliError(
      'NOT_THERE',
      `Compaction ${target} never came into force, so there is nothing to compare.`,
      { facts: { compactionId: target }, hint: '`undertext log SESSION` shows which did.' },
    )
  const ids = new Set(targets.map((one) => one.id))
  const dependents = isInForce ? dependentsOf(compactions, ids) : []
  const left = new Set([...ids, ...dependents])
  const without = isInForce ? new Set([...active].filter((one) => !left.has(one))) : active
  const before = viewAt(history, without)
  const after = viewAt(history, now && isInForce ? active : new Set([...without, ...ids]))
  return {
    targets,
    after: !isInForce ? 'redone' : now ? 'now' : 'with',
    dependents,
    rows: { before: before.length, after: after.length },
    tokens: { before: tokens?.of(before), after: tokens?.of(after) },
    differences: differencesOf(rows, before, after),
  }
}

/** Compares the views of two moments, row by row. */
export async function comparePast(
  store: Store,
  id: string,
  from: Moment,
  to: Moment | undefined,
): Promise<Difference[]> {
  const seen = async (at: Moment | undefined): Promise<SeenRow[]> => {
    const rows = await store.getMessages(id, { visible: true, shown: true, at })
    return rows.filter((row) => !isSilent(row)).map((row) => ({ row, content: viewContent(row) }))
  }
  const [before, after] = [await seen(from), await seen(to)]
  const rows = new Map([...before, ...after].map(({ row }) => [row.id, row] as const))
  const inOrder = [...rows.values()].sort((a, b) => a.anchor - b.anchor || ordinalOf(a) - ordinalOf(b))
  return differencesOf(inOrder, before, after)
}

/** The order of rows with one anchor: the message, then inserted rows, whose ids end in their ordinal. */
function ordinalOf({ kind, id }: StoredMessage): number {
  return kind === 'message' ? 0 : Number(id.slice(id.lastIndexOf(':') + 2))
}

/** The replacements of a session, those out of force too; only the session's history has them. */
export async function storedReplacements(store: Store, sessionId: string): Promise<Replacement[]> {
  const replacements: Replacement[] = []
  for await (const record of store.sessions.export(sessionId)) {
    if (record.type !== 'replacement') continue
    const { compaction, message, part, text } = record
    replacements.push({ compactionId: compaction, messageId: message, part, text })
  }
  return replacements
}

/** Ids of the compactions in force that build on the targets, directly or not. */
export function dependentsOf(compactions: readonly Compaction[], targets: ReadonlySet<string>): string[] {
  const nested = compactions.map((one, rank) => ({ ...one, no: rank, rank }))
  const taken = nested.filter(({ id }) => targets.has(id))
  const found: string[] = []
  // Each comes after those it builds on, so one pass finds all of them.
  for (const candidate of nested) {
    if (candidate.status !== 'active' || targets.has(candidate.id)) continue
    if (!taken.some((earlier) => dependsOn(candidate, earlier))) continue
    taken.push(candidate)
    found.push(candidate.id)
  }
  return found
}

/** The view with a set of compactions in force: a function of the stored rows and that set alone. */
export function viewAt(history: StoredHistory, inForce: ReadonlySet<string>): SeenRow[] {
  const active = history.compactions.filter(({ id }) => inForce.has(id))
  const hidden = hiddenRows(active)
  const ordinals = new Map(
    history.compactions.flatMap(({ coverage: { inserted }, insertedIds }) =>
      inserted === undefined ? [] : insertedIds.map((id) => [id, inserted.ordinal] as const),
    ),
  )
  const shown = shownTexts(active, history.replacements)
  return history.rows.flatMap((row) => {
    const insertedBy = row.condenseId ?? row.truncationId
    if (row.kind !== 'message' && (insertedBy === undefined || !inForce.has(insertedBy))) return []
    const isHidden =
      row.position === undefined
        ? hidden.ordinals.has(ordinals.get(row.id) ?? -1)
        : hidden.positions.has(row.position)
    if (isHidden) return []
    const texts = shown.get(row.id)
    return { row, content: texts ? withReplacements(row.content, (part) => texts.get(part)) : row.content }
  })
}

function hiddenRows(active: readonly Compaction[]) {
  const positions = new Set<number>()
  const ordinals = new Set<number>()
  for (const { coverage } of active) {
    for (const [from, to] of coverage.hidden.positions)
      for (let position = from; position <= to; position += 1) positions.add(position)
    for (const { ordinal } of coverage.hidden.inserted) ordinals.add(ordinal)
  }
  return { positions, ordinals }
}

/** The newest text in force of each part, by row and part. */
function shownTexts(
  active: readonly Compaction[],
  replacements: readonly Replacement[],
): ReadonlyMap<string, ReadonlyMap<number, string>> {
  const ranks = new Map(active.map(({ id }, rank) => [id, rank] as const))
  const inOrder = replacements
    .filter(({ compactionId }) => ranks.has(compactionId))
    .sort((a, b) => ranks.get(a.compactionId)! - ranks.get(b.compactionId)!)
  const shown = new Map<string, Map<number, string>>()
  for (const { messageId, part, text } of inOrder) {
    const parts = shown.get(messageId) ?? new Map<number, string>()
    shown.set(messageId, parts)
    if (text === null) parts.delete(part)
    else parts.set(part, text)
  }
  return shown
}

/** Two views row by row, in the order of the stored rows. */
function differencesOf(
  rows: readonly StoredMessage[],
  before: readonly SeenRow[],
  after: readonly SeenRow[],
): Difference[] {
  const old = new Map(before.map((seen) => [seen.row.id, seen] as const))
  const current = new Map(after.map((seen) => [seen.row.id, seen] as const))
  return rows.flatMap(({ id }): Difference | readonly Difference[] => {
    const was = old.get(id)
    const seen = current.get(id)
    if (was === undefined) return seen === undefined ? [] : { change: 'added', seen }
    if (seen === undefined) return { change: 'removed', seen: was }
    const oldParts = partsOf(was)
    const parts = partsOf(seen).flatMap((part, at) => {
      const [textBefore, textAfter] = [replaceableText(oldParts[at]), replaceableText(part)]
      return textBefore === textAfter ? [] : { part: at, before: textBefore, after: textAfter }
    })
    return parts.length === 0 ? { change: 'same', seen } : { change: 'replaced', seen, parts }
  })
}

/** The text of a part that a compaction can replace. */
function replaceableText(part: Part | undefined): string {
  switch (part?.type) {
    case 'text':
    case 'reasoning':
      return part.text
    case 'tool-result':
      return outputText(part.output)
    case 'provider':
      return JSON.stringify(part.data)
    default:
      return ''
  }
}

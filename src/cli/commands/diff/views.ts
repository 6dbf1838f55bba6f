import { outputText, type Part, partsOf, type StoredMessage } from '../../../messages/message.ts'
import { withReplacements } from '../../../messages/overlay.ts'
import { dependsOn } from '../../../model/nesting.ts'
import type { Compaction } from '../../../storage/storage.ts'
import type { SqliteStore } from '../../../store/open.ts'
import { CliError } from '../../errors.ts'
import type { TokenCounter } from '../../token-counter.ts'

/** What a compaction shows in place of a part; `null`: the original itself. */
export type ReplacementText = {
  readonly compactionId: string
  readonly messageId: string
  readonly part: number
  readonly text: string | null
}

/** All that is stored of a session. Rows in the order of the view, compactions in the order they first came into force. */
export type StoredHistory = {
  readonly rows: readonly StoredMessage[]
  readonly compactions: readonly Compaction[]
  readonly replacements: readonly ReplacementText[]
}

/** A row as a view shows it. */
export type SeenRow = { readonly row: StoredMessage; readonly content: string | readonly Part[] }

/** The view a set of compactions gives: a function of the rows and that set, and of nothing else. */
export function viewAt(history: StoredHistory, inForce: ReadonlySet<string>): SeenRow[] {
  const active = history.compactions.filter(({ id }) => inForce.has(id))
  const hidden = hiddenRows(active)
  const ordinals = ordinalsOf(history.compactions)
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
    return {
      row,
      content: texts === undefined ? row.content : withReplacements(row.content, (part) => texts.get(part)),
    }
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

/** Inserted rows by their ids, as coverage names them. */
function ordinalsOf(compactions: readonly Compaction[]): ReadonlyMap<string, number> {
  return new Map(
    compactions.flatMap(({ coverage: { inserted }, insertedIds }) =>
      inserted === undefined ? [] : insertedIds.map((id) => [id, inserted.ordinal] as const),
    ),
  )
}

/** The newest text in force of each part, by row and part. */
function shownTexts(
  active: readonly Compaction[],
  replacements: readonly ReplacementText[],
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

/** Ids of the compactions in force that build on some, those on these, and so on. */
export function dependentsOf(compactions: readonly Compaction[], targets: ReadonlySet<string>): string[] {
  const nested = compactions.map((one, rank) => ({ ...one, no: rank, rank }))
  const taken = nested.filter(({ id }) => targets.has(id))
  const found: string[] = []
  // In the order they came into force, so that one pass meets everybody behind those it builds on.
  for (const candidate of nested) {
    if (candidate.status !== 'active' || targets.has(candidate.id)) continue
    if (!taken.some((earlier) => dependsOn(candidate, earlier))) continue
    taken.push(candidate)
    found.push(candidate.id)
  }
  return found
}

/** Two views, and what they are. */
export type Comparison = {
  readonly targets: readonly Compaction[]
  /** What the second view is: with the compactions alone, as it is now, or as a redo would make it. */
  readonly after: 'with' | 'now' | 'redone'
  /** Compactions in force that build on it and are in neither view, or with `now` only in the second. */
  readonly dependents: readonly string[]
  readonly rows: { readonly before: number; readonly after: number }
  /** Tokens of the views; `undefined` where nobody here counts as the session does. */
  readonly tokens: { readonly before: number | undefined; readonly after: number | undefined }
  readonly differences: readonly Difference[]
}

/** Compares the views of a session without a compaction, or all of a run, and with it. */
export async function compare(
  store: SqliteStore,
  id: string,
  target: string,
  now: boolean,
  tokens: TokenCounter | undefined,
): Promise<Comparison> {
  const compactions = await store.listCompactions(id)
  const history: StoredHistory = {
    rows: await store.getMessages(id),
    compactions,
    replacements: await replacementTexts(store, id),
  }
  const members = compactions.filter((one) => one.id === target || one.runId === target)
  const active = new Set(compactions.filter(({ status }) => status === 'active').map((one) => one.id))
  const inForce = members.filter((one) => active.has(one.id))
  const targets = inForce.length > 0 ? inForce : members.filter(({ status }) => status === 'undone')
  if (targets.length === 0) throw neverInForce(target)
  const ids = new Set(targets.map((one) => one.id))
  const dependents = inForce.length > 0 ? dependentsOf(compactions, ids) : []
  const without = inForce.length > 0 ? minus(active, new Set([...ids, ...dependents])) : active
  const before = viewAt(history, without)
  const after = viewAt(history, now && inForce.length > 0 ? active : new Set([...without, ...ids]))
  return {
    targets,
    after: inForce.length === 0 ? 'redone' : now ? 'now' : 'with',
    dependents,
    rows: { before: before.length, after: after.length },
    tokens: { before: tokens?.of(before), after: tokens?.of(after) },
    differences: differences(
      before,
      after,
      history.rows.map((row) => row.id),
    ),
  }
}

function minus(all: ReadonlySet<string>, some: ReadonlySet<string>): Set<string> {
  return new Set([...all].filter((one) => !some.has(one)))
}

function neverInForce(target: string): CliError {
  return new CliError(
    'NOT_THERE',
    `Compaction ${target} never came into force, so there is nothing to compare.`,
    {
      facts: { compactionId: target },
      hint: '`undertext log SESSION` shows which did.',
    },
  )
}

/** The texts of all replacements of a session, those out of force too: of the session's history, which alone tells them. */
export async function replacementTexts(store: SqliteStore, sessionId: string): Promise<ReplacementText[]> {
  const texts: ReplacementText[] = []
  for await (const record of store.exportSession(sessionId)) {
    if (record.type !== 'replacement') continue
    const { compaction, message, part, text } = record
    texts.push({ compactionId: compaction, messageId: message, part, text })
  }
  return texts
}

/** A part that is another text now. */
type PartChange = { readonly part: number; readonly before: string; readonly after: string }

/** A row of two views: in both alike, in one alone, or with other texts. */
export type Difference =
  | { readonly change: 'same' | 'removed' | 'added'; readonly seen: SeenRow }
  | {
      readonly change: 'replaced'
      readonly seen: SeenRow
      readonly before: SeenRow
      readonly parts: readonly PartChange[]
    }

/** Two views of one session row by row, in its order. `order` is the ids of all rows. */
export function differences(
  before: readonly SeenRow[],
  after: readonly SeenRow[],
  order: readonly string[],
): Difference[] {
  const old = new Map(before.map((seen) => [seen.row.id, seen] as const))
  const young = new Map(after.map((seen) => [seen.row.id, seen] as const))
  return order.flatMap((id): Difference | readonly Difference[] => {
    const was = old.get(id)
    const is = young.get(id)
    if (was === undefined) return is === undefined ? [] : { change: 'added', seen: is }
    if (is === undefined) return { change: 'removed', seen: was }
    const parts = partChanges(was, is)
    return parts.length === 0
      ? { change: 'same', seen: is }
      : { change: 'replaced', seen: is, before: was, parts }
  })
}

function partChanges(before: SeenRow, after: SeenRow): PartChange[] {
  const old = partsOf(before)
  return partsOf(after).flatMap((part, at) => {
    const [was, is] = [textOf(old[at]), textOf(part)]
    return was === is ? [] : { part: at, before: was, after: is }
  })
}

/** What can be replaced of a part. */
function textOf(part: Part | undefined): string {
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

import { UndertextError } from '../errors.ts'
import { countRows, holdsRow, spanPlaces } from './coverage.ts'
import { indexMessage } from './index-message.ts'
import type { JsonObject } from './json.ts'
import { checkLaws, partedReasoning } from './laws.ts'
import { type Part, partsOf, type Role, type RowKind } from './message.ts'
import { type Nested, planRedo, planUndo } from './nesting.ts'
import { withReplacements } from './overlay.ts'
import { type CompactionKind, isCondensing, savedBy } from './plan.ts'
import { type Estimator, measureMessage, measurePart } from './tokens.ts'
import { compareRows, type Lean, type PreviewedPart, View, type ViewRow } from './view.ts'

/*
 * The definition of what a store is: a log of rows that never change, and the compactions laid over it. Plain
 * data, pure functions, no speed. Every storage is held to it by randomised tests: after any sequence of verbs
 * the same view, the same figures, the same refusals.
 */

/** A row as it was written. */
export type LogRow = {
  readonly key: number
  readonly id: string
  readonly kind: RowKind
  readonly role: Role
  readonly content: string | readonly Part[]
  readonly metadata: JsonObject | undefined
  readonly createdAt: number
  readonly position: number | undefined
  readonly anchor: number
  readonly ordinal: number
  /** Number of the compaction that inserted it. */
  readonly insertedBy: number | undefined
  readonly pinned: boolean
}

/** A compaction as it was written; only its status changes. */
export type LogCompaction = Nested & {
  readonly run: string
  readonly kind: CompactionKind
  readonly replacements: readonly {
    readonly key: number
    readonly part: number
    readonly text: string | null
  }[]
  readonly requires: readonly Lean[]
  /** Which undo of its whole run took it down. */
  readonly undoneWithRun: number | undefined
}

export type SessionLog = { readonly rows: readonly LogRow[]; readonly compactions: readonly LogCompaction[] }

/** What a row carries because of the compactions in force. */
export type LogTags = {
  readonly condenseParent: number | undefined
  readonly truncationParent: number | undefined
  readonly retiredBy: number | undefined
  /** The newest replacement in force of each part that has one, by part. */
  readonly shown: ReadonlyMap<number, { readonly compaction: number; readonly text: string }>
}

/** The tags of a row: a function of the rows and the set of compactions in force, and of nothing else. */
export function tagsOf(log: SessionLog, row: LogRow): LogTags {
  const active = log.compactions.filter(({ status }) => status === 'active').sort((a, b) => a.no - b.no)
  const hiding = active.find(({ coverage }) => holdsRow(coverage.hidden, row))
  const shown = new Map<number, { compaction: number; text: string }>()
  for (const { no, replacements } of active) {
    for (const { key, part, text } of replacements) {
      if (key !== row.key) continue
      if (text === null) shown.delete(part)
      else shown.set(part, { compaction: no, text })
    }
  }
  const inForce = row.insertedBy === undefined || active.some(({ no }) => no === row.insertedBy)
  return {
    condenseParent: hiding !== undefined && isCondensing(hiding.kind) ? hiding.no : undefined,
    truncationParent: hiding !== undefined && !isCondensing(hiding.kind) ? hiding.no : undefined,
    retiredBy: inForce ? undefined : row.insertedBy,
    shown: new Map([...shown].sort((a, b) => a[0] - b[0])),
  }
}

export function isVisible({ condenseParent, truncationParent, retiredBy }: LogTags): boolean {
  return condenseParent === undefined && truncationParent === undefined && retiredBy === undefined
}

/** A visible row, its replacements applied. */
export type ProjectedRow = {
  readonly row: LogRow
  readonly tags: LogTags
  readonly content: string | readonly Part[]
}

/** The effective history. This is its definition. */
export function projectView(log: SessionLog): ProjectedRow[] {
  return [...log.rows]
    .sort(compareRows)
    .map((row) => ({ row, tags: tagsOf(log, row) }))
    .filter(({ tags }) => isVisible(tags))
    .map(({ row, tags }) => ({
      row,
      tags,
      content: withReplacements(row.content, (part) => tags.shown.get(part)?.text),
    }))
}

/** The effective history as planning sees it. */
export function indexView(log: SessionLog, estimator: Estimator, provider: string): View {
  const rows = projectView(log).map(({ row, tags, content }): ViewRow => {
    const index = indexMessage({ content: partsOf(row) }, estimator)
    return {
      ...row,
      ...index,
      sizes: measureMessage({ content: partsOf({ content }) }, estimator),
      shown: [...tags.shown].map(([part, { compaction }]) => ({ part, compaction })),
    }
  })
  const leans = log.compactions.flatMap(({ status, requires }) => (status === 'active' ? requires : []))
  return new View(rows, estimator, provider, undefined, undefined, leans, previewedParts(log, estimator))
}

/** What previews in force lie over. */
function previewedParts(log: SessionLog, estimator: Estimator): PreviewedPart[] {
  const byKey = new Map(log.rows.map((row) => [row.key, row] as const))
  return log.compactions.flatMap(({ no, kind, status, replacements }) =>
    kind !== 'preview' || status !== 'active'
      ? []
      : replacements.map(({ key, part, text }) => {
          if (text === null) throw new Error('a preview shows a text')
          const original = measurePart(partsOf(byKey.get(key)!)[part]!, estimator)
          const saved = savedBy(original, 'toolResults', estimator.measureText(text, 'toolResult'))
          return { key, part, compaction: no, saved }
        }),
  )
}

/** Takes compactions out of force: the log afterwards, and which ones, in order. Throws `HAS_ACTIVE_DEPENDENTS`. */
export function undoIn(
  sessionId: string,
  log: SessionLog,
  targets: readonly LogCompaction[],
  cascade: boolean,
  withRun: number | undefined,
): { log: SessionLog; taken: readonly LogCompaction[] } {
  const taken = planUndo(sessionId, log.compactions, targets, cascade)
  const changed = taken.map((compaction) => ({
    ...compaction,
    status: 'undone' as const,
    undoneWithRun: targets.includes(compaction) ? withRun : undefined,
  }))
  return { log: withCompactions(log, changed), taken }
}

/**
 * Puts compactions back, oldest first, each held to the laws on the view as it then is. Throws
 * `INPUT_NOT_VISIBLE`; then nothing of it counts.
 */
export function redoIn(
  sessionId: string,
  log: SessionLog,
  targets: readonly LogCompaction[],
  cascade: boolean,
  estimator: Estimator,
): { log: SessionLog; taken: readonly LogCompaction[] } {
  const taken = planRedo(log.compactions, targets, cascade)
  let current = log
  for (const compaction of taken) {
    const refuse = (why: string, missing: readonly string[]): never => {
      throw new UndertextError('INPUT_NOT_VISIBLE', { sessionId, compactionId: compaction.id, why, missing })
    }
    const view = indexView(current, estimator, '')
    checkCovered(sessionId, view, compaction, refuse)
    checkReplaced(
      view,
      compaction,
      refuse,
      (key) => current.rows.find((row) => row.key === key)?.id ?? String(key),
    )
    current = withCompactions(current, [{ ...compaction, status: 'active', undoneWithRun: undefined }])
  }
  return { log: current, taken }
}

/** The members of a run that its latest undo as a whole took down and that are still down. */
export function lastUndoneOf<T extends Pick<LogCompaction, 'status' | 'undoneWithRun'>>(
  members: readonly T[],
): T[] {
  const latest = members.reduce((most, { undoneWithRun = 0 }) => Math.max(most, undoneWithRun), 0)
  return members.filter(({ status, undoneWithRun }) => status === 'undone' && undoneWithRun === latest)
}

type Refuse = (why: string, missing: readonly string[]) => never

/** Laws 1 to 5 for the rows a compaction hides. */
function checkCovered(
  sessionId: string,
  view: View,
  { coverage, kind }: LogCompaction,
  refuse: Refuse,
): void {
  const hide = view.rows.filter((row) => holdsRow(coverage.hidden, row))
  if (hide.length < countRows(coverage.hidden)) refuse('some of its messages are hidden or retired', [])
  const span = spanPlaces(coverage.hidden)
  if (span === undefined) return
  const appeared = view.rows.filter(
    (row) =>
      compareRows(row, span[0]) >= 0 &&
      compareRows(row, span[1]) <= 0 &&
      !holdsRow(coverage.hidden, row) &&
      !holdsRow(coverage.beside, row),
  )
  if (appeared.length > 0)
    refuse(
      'other messages have come to light between its own',
      appeared.map(({ id }) => id),
    )
  try {
    const rewinds = coverage.rewinds === true ? { rewinds: true as const } : {}
    checkLaws(sessionId, view, { kind, hide, replace: [], requires: [], params: {}, ...rewinds })
  } catch (error) {
    refuse('a law would not hold', (error as UndertextError<'ILLEGAL_BOUNDARY'>).facts.messageIds)
  }
}

/** Laws 3 and 6 for the rows it replaces parts of: hidden ones do not count, the original shows when they come back. */
function checkReplaced(
  view: View,
  { kind, coverage, replacements, requires }: LogCompaction,
  refuse: Refuse,
  nameOf: (key: number) => string,
): void {
  // The parts of a provider's block moved to the row it inserted: no law keeps them in their place.
  if (kind === 'provider' && coverage.inserted !== undefined) return
  // What a rewind shows again is the original, which pins do not hold against.
  if (coverage.rewinds === true) return
  const byKey = new Map(view.rows.map((row) => [row.key, row] as const))
  const visible = replacements.flatMap(({ key }) => byKey.get(key) ?? [])
  const pinned = visible.filter((row) => row.pinned)
  if (pinned.length > 0)
    refuse(
      'these are pinned now',
      pinned.map(({ id }) => id),
    )
  const emptied = replacements.flatMap(({ key, part, text }) => {
    const row = text === '' ? byKey.get(key) : undefined
    return row === undefined ? [] : [{ row, part }]
  })
  const needing = partedReasoning(view, emptied)
  if (needing.length > 0)
    refuse(
      'a tool loop needs the reasoning',
      needing.map(({ id }) => id),
    )
  if (visible.length === 0) return
  const gone = requires.filter(({ key, part }) => {
    const row = byKey.get(key)
    return row === undefined || row.shown.some((shown) => shown.part === part)
  })
  if (gone.length > 0)
    refuse(
      'it leans on these, and they are hidden or replaced',
      gone.map(({ key }) => nameOf(key)),
    )
}

function withCompactions(log: SessionLog, changed: readonly LogCompaction[]): SessionLog {
  const byNo = new Map(changed.map((compaction) => [compaction.no, compaction] as const))
  return { ...log, compactions: log.compactions.map((compaction) => byNo.get(compaction.no) ?? compaction) }
}

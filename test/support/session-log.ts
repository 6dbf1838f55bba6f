import { UndertextError } from '../../src/core/errors.ts'
import type { JsonObject } from '../../src/core/messages/json.ts'
import { type Part, partsOf, type Role, type RowKind } from '../../src/core/messages/message.ts'
import { withReplacements } from '../../src/core/messages/overlay.ts'
import type { Nested } from '../../src/core/model/coverage.ts'
import { containsRow, countRows, spanPlaces } from '../../src/core/model/coverage.ts'
import { checkLaws, partedReasoning } from '../../src/core/model/laws.ts'
import { indexMessage } from '../../src/core/model/message-parts.ts'
import { type CompactionKind, isCondensing, savedBy } from '../../src/core/model/plan.ts'
import { compareRows, type PointerTarget, type PreviewedPart, View } from '../../src/core/model/view.ts'
import type { ViewRow } from '../../src/core/model/view-row.ts'
import type { Estimator } from '../../src/core/tokens/estimators/estimator-schema.ts'
import { measureMessage, measurePart } from '../../src/core/tokens/measure.ts'
import { type Nesting, planLift, planRedo, planUndo, turnedBack } from '../../src/storage/sql/plan-undo.ts'
import { complete, Done } from '../../src/storage/sql/work.ts'

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
  readonly requires: readonly PointerTarget[]
  /** Which undo of a whole run took it down. */
  readonly undoneWithRun: number | undefined
  /** What a rewind turned when it came into force last: numbers of compactions. */
  readonly turned?: { readonly lifted: readonly number[]; readonly restored: readonly number[] }
}

export type SessionLog = { readonly rows: readonly LogRow[]; readonly compactions: readonly LogCompaction[] }

/** What a row carries because of the compactions in force. */
type LogTags = {
  readonly condenseParent: number | undefined
  readonly truncationParent: number | undefined
  readonly retiredBy: number | undefined
  /** The newest replacement in force of each part that has one, by part. */
  readonly shown: ReadonlyMap<number, { readonly compaction: number; readonly text: string }>
}

/** The tags of a row: a function of the rows and the set of compactions in force, and of nothing else. */
export function tagsOf(log: SessionLog, row: LogRow): LogTags {
  const active = log.compactions.filter(({ status }) => status === 'active').sort((a, b) => a.no - b.no)
  const hiding = active.find(({ coverage }) => containsRow(coverage.hidden, row))
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
type ProjectedRow = {
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
  const targets = log.compactions.flatMap(({ status, requires }) => (status === 'active' ? requires : []))
  return new View(rows, estimator, provider, undefined, undefined, targets, previewedParts(log, estimator))
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

/** What a rewind turned. */
function turnedBy(
  { turned }: LogCompaction,
  { compactions }: SessionLog,
): { lifted: LogCompaction[]; restored: LogCompaction[] } {
  const named = (numbers: readonly number[] = [], status: LogCompaction['status']): LogCompaction[] =>
    compactions.filter((one) => numbers.includes(one.no) && one.status === status)
  return { lifted: named(turned?.lifted, 'undone'), restored: named(turned?.restored, 'active') }
}

/** How the compactions of a log nest. */
function nestingOf(log: SessionLog): Nesting<LogCompaction> {
  const { compactions } = log
  return {
    laterInForce: () => new Done(compactions.filter(({ status }) => status === 'active')),
    earlierUndone: (later) =>
      new Done(compactions.filter(({ status, rank }) => status === 'undone' && rank < later.rank)),
    earlierInForce: (later) =>
      new Done(compactions.filter(({ status, rank }) => status === 'active' && rank < later.rank)),
    turnedBy: (rewind) => new Done(turnedBy(rewind, log)),
  }
}

/** What compactions were turned: the log afterwards, which ones in order, and those that rewinds turned with themselves. */
type Turned = {
  readonly log: SessionLog
  readonly taken: readonly LogCompaction[]
  readonly alsoChanged: readonly LogCompaction[]
}

/** Takes compactions out of force, rewinds together with what they turned. Throws `HAS_ACTIVE_DEPENDENTS`. */
export function undoIn(
  sessionId: string,
  log: SessionLog,
  targets: readonly LogCompaction[],
  cascade: boolean,
  withRun: number | undefined,
): Turned {
  let current = log
  const taken: LogCompaction[] = []
  const alsoChanged: LogCompaction[] = []
  for (let rest = targets; ; rest = rest.filter((one) => !taken.some(({ no }) => no === one.no))) {
    const [next] = complete(planUndo(sessionId, nestingOf(current), rest, cascade))
    if (next === undefined) return { log: current, taken, alsoChanged }
    const { lifted, restored } = complete(turnedBack(nestingOf(current), next))
    current = withCompactions(current, [{ ...next, status: 'undone', undoneWithRun: withRun }])
    current = turnedIn(current, restored, lifted)
    taken.push(next)
    for (const one of [...newestFirst(restored), ...oldestFirst(lifted)]) alsoChanged.push(one)
  }
}

/** Some compactions out of force and others in force: to a state that was, so no law is asked. */
function turnedIn(
  log: SessionLog,
  lifted: readonly LogCompaction[],
  restored: readonly LogCompaction[],
): SessionLog {
  return withCompactions(log, [
    ...lifted.map((one) => ({ ...one, status: 'undone' as const })),
    ...restored.map((one) => ({ ...one, status: 'active' as const })),
  ])
}

const newestFirst = (list: readonly LogCompaction[]): LogCompaction[] =>
  list.toSorted((a, b) => b.rank - a.rank)
const oldestFirst = (list: readonly LogCompaction[]): LogCompaction[] =>
  list.toSorted((a, b) => a.rank - b.rank)

/** A log without what a rewind lifts, closed under what builds on it, and with what it restores. */
export function liftedIn(
  log: SessionLog,
  lifts: readonly LogCompaction[],
  restores: readonly LogCompaction[],
): { log: SessionLog; lifts: readonly number[]; restores: readonly number[] } {
  const lifted = complete(planLift(nestingOf(log), lifts))
  const numbers = (list: readonly LogCompaction[]): number[] => oldestFirst(list).map(({ no }) => no)
  return { log: turnedIn(log, lifted, restores), lifts: numbers(lifted), restores: numbers(restores) }
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
): Turned {
  const taken = complete(planRedo(nestingOf(log), targets, cascade))
  const alsoChanged: LogCompaction[] = []
  let current = log
  for (const compaction of taken) {
    const refuse = (why: string, missing: readonly string[]): never => {
      throw new UndertextError('INPUT_NOT_VISIBLE', { sessionId, compactionId: compaction.id, why, missing })
    }
    const { lifts = [], restores = [] } = compaction.coverage
    const named = (numbers: readonly number[], status: LogCompaction['status']): LogCompaction[] =>
      current.compactions.filter((one) => numbers.includes(one.no) && one.status === status)
    const lifted = named(lifts, 'active')
    const restored = named(restores, 'undone')
    if (complete(planLift(nestingOf(current), lifted)).length > lifted.length)
      refuse('others build on what it lifts', [])
    const hides = (one: LogCompaction): readonly LogRow[] =>
      current.rows.filter((row) => containsRow(one.coverage.hidden, row))
    current = turnedIn(current, lifted, [])
    for (const one of oldestFirst(restored)) {
      if (hides(one).some((row) => !isVisible(tagsOf(current, row)))) refuse('what it restores cannot be', [])
      current = turnedIn(current, [], [one])
    }
    for (const one of [...newestFirst(lifted), ...oldestFirst(restored)]) alsoChanged.push(one)
    const view = indexView(current, estimator, '')
    checkCovered(sessionId, view, compaction, refuse)
    checkReplaced(
      view,
      compaction,
      refuse,
      (key) => current.rows.find((row) => row.key === key)?.id ?? String(key),
    )
    const turned = { lifted: lifted.map(({ no }) => no), restored: restored.map(({ no }) => no) }
    const redone: LogCompaction = { ...compaction, status: 'active', undoneWithRun: undefined, turned }
    current = withCompactions(current, [redone])
  }
  return { log: current, taken, alsoChanged }
}

type Refuse = (why: string, missing: readonly string[]) => never

/** Laws 1 to 5 for the rows a compaction hides. */
function checkCovered(
  sessionId: string,
  view: View,
  { coverage, kind }: LogCompaction,
  refuse: Refuse,
): void {
  const hide = view.rows.filter((row) => containsRow(coverage.hidden, row))
  if (hide.length < countRows(coverage.hidden)) refuse('some of its messages are hidden or retired', [])
  const span = spanPlaces(coverage.hidden)
  if (span === undefined) return
  const appeared = view.rows.filter(
    (row) =>
      compareRows(row, span[0]) >= 0 &&
      compareRows(row, span[1]) <= 0 &&
      !containsRow(coverage.hidden, row) &&
      !containsRow(coverage.beside, row),
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
      'it changes pinned messages',
      pinned.map(({ id }) => id),
    )
  const emptied = replacements.flatMap(({ key, part, text }) => {
    const row = text === '' ? byKey.get(key) : undefined
    return row === undefined ? [] : [{ row, part }]
  })
  const needing = partedReasoning(view, emptied)
  if (needing.length > 0)
    refuse(
      'a tool loop needs their reasoning',
      needing.map(({ id }) => id),
    )
  if (visible.length === 0) return
  const gone = requires.filter(({ key, part }) => {
    const row = byKey.get(key)
    return row === undefined || row.shown.some((shown) => shown.part === part)
  })
  if (gone.length > 0)
    refuse(
      'its pointers refer to messages that are hidden or replaced',
      gone.map(({ key }) => nameOf(key)),
    )
}

function withCompactions(log: SessionLog, changed: readonly LogCompaction[]): SessionLog {
  const byNo = new Map(changed.map((compaction) => [compaction.no, compaction] as const))
  return { ...log, compactions: log.compactions.map((compaction) => byNo.get(compaction.no) ?? compaction) }
}

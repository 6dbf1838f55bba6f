import { countBefore } from '../../core/messages/json.ts'
import type { Compaction } from '../../storage/storage.ts'
import { type Choices, type Stretch, shownStretches, type Versions } from './conversation-versions.ts'

/*
 * The list of the conversation, without its contents: positions, inserted rows, folded runs of hidden rows, and versions. All of it follows
 * from the number of messages and the compactions, so a list of any length is known before a row is read.
 */

export type Item =
  | {
      readonly kind: 'message'
      readonly key: number
      readonly position: number
      readonly hiddenBy: string | undefined
    }
  | {
      readonly kind: 'inserted'
      readonly key: string
      readonly id: string
      readonly anchor: number
      /** The compaction that wrote it. */
      readonly compactionId: string
      /** The compaction that hides it: its own if that was undone. */
      readonly hiddenBy: string | undefined
    }
  | {
      readonly kind: 'fold'
      readonly key: string
      readonly from: number
      readonly to: number
      readonly messages: number
      readonly isOpen: boolean
      readonly compactionId: string
    }
  | {
      readonly kind: 'version'
      readonly key: string
      readonly stretch: Stretch
      readonly siblings: readonly Stretch[]
    }

type RowItem = Extract<Item, { readonly kind: 'message' | 'inserted' }>

export type Filter = 'everything' | 'view' | 'hidden'

/** Runs of hidden rows with at least this many can be folded, and with more than `FOLDED_FROM` are, until someone opens them. */
const FOLDABLE_FROM = 4
const FOLDED_FROM = 20

type Compacted = Pick<Compaction, 'id' | 'status' | 'coverage' | 'insertedIds'>

/** What the compactions do to the rows of a session. */
export type Hiding = {
  /** Hidden positions, in order, each once. */
  readonly ranges: readonly { readonly from: number; readonly to: number; readonly by: string }[]
  /** In the order of the view. */
  readonly inserted: readonly (Extract<Item, { readonly kind: 'inserted' }> & { readonly ordinal: number })[]
  /** The outermost compaction that hides what a compaction left, by id; absent if it is the outermost. */
  readonly outer: ReadonlyMap<string, string>
}

/** Returns what is hidden, and which rows were inserted. */
export function hidingOf(compactions: readonly Compacted[]): Hiding {
  const active = compactions.filter(({ status }) => status === 'active')
  const hiders = new Map<string, string>()
  for (const { id, coverage } of active)
    for (const { anchor, ordinal } of coverage.hidden.inserted) hiders.set(`${anchor} ${ordinal}`, id)
  const inserted = compactions.flatMap(({ id, status, coverage, insertedIds: [rowId] }) => {
    const place = coverage.inserted
    if (place === undefined || rowId === undefined) return []
    const hiddenBy = status === 'active' ? hiders.get(`${place.anchor} ${place.ordinal}`) : id
    return [{ kind: 'inserted' as const, key: rowId, id: rowId, compactionId: id, hiddenBy, ...place }]
  })
  const outer = new Map(
    inserted.flatMap(({ compactionId, hiddenBy }) =>
      hiddenBy === undefined || hiddenBy === compactionId ? [] : [[compactionId, hiddenBy] as const],
    ),
  )
  return {
    ranges: disjoint(
      active.flatMap(({ id, coverage }) =>
        coverage.hidden.positions.map(([from, to]) => ({ from, to, by: id })),
      ),
    ),
    inserted: inserted.sort((a, b) => a.anchor - b.anchor || a.ordinal - b.ordinal),
    outer,
  }
}

type Range = Hiding['ranges'][number]

/** Sorts ranges; where two overlap, the first stays whole. */
function disjoint(ranges: readonly Range[]): Range[] {
  const sorted: Range[] = []
  for (const range of [...ranges].sort((a, b) => a.from - b.from)) {
    const from = Math.max(range.from, (sorted.at(-1)?.to ?? 0) + 1)
    if (from <= range.to) sorted.push({ ...range, from })
  }
  return sorted
}

function outermost({ outer }: Hiding, compactionId: string): string {
  const seen = new Set<string>()
  let current = compactionId
  for (let next = outer.get(current); next !== undefined && !seen.has(next); next = outer.get(current)) {
    seen.add(next)
    current = next
  }
  return current
}

export type ListOptions = {
  readonly messageCount: number
  readonly hiding: Hiding
  readonly versions: Versions
  readonly choices: Choices
  readonly filter: Filter
  /** Keys of folds whose state isn't the default. */
  readonly toggled: ReadonlySet<string>
  /** Whether a row belongs to the list; absent: all do, and runs of hidden rows are folded. */
  readonly matches?: ((row: RowItem) => boolean) | undefined
}

/** Returns the list. */
export function itemsOf(options: ListOptions): Item[] {
  const { filter, matches } = options
  if (filter === 'everything' && matches === undefined) return folded(options)
  return [...rowsIn(options, [{ from: 1, to: options.messageCount }])].filter(
    (row) =>
      (filter === 'everything' || (row.hiddenBy === undefined) === (filter === 'view')) &&
      matches?.(row) !== false,
  )
}

function folded(options: ListOptions): Item[] {
  const { versions, choices, hiding, toggled } = options
  const items: Item[] = []
  for (const stretch of shownStretches(versions, choices)) {
    const siblings = versions.get(stretch.after) ?? []
    if (siblings.length > 1)
      items.push({ kind: 'version', key: `version ${stretch.from}`, stretch, siblings })
    let run: RowItem[] = []
    const flush = (): void => {
      addRun(items, run, hiding, toggled, siblings.length > 1 ? stretch.hiddenBy : undefined)
      run = []
    }
    for (const row of rowsIn(options, [stretch])) {
      const by = row.hiddenBy === undefined ? undefined : outermost(hiding, row.hiddenBy)
      const [first] = run
      if (first !== undefined && (by === undefined || outermost(hiding, first.hiddenBy!) !== by)) flush()
      if (by === undefined) items.push(row)
      else run.push(row)
    }
    flush()
  }
  return items
}

/** `chosenBy`: the rewind that hides the version that is shown, whose rows one wants to see. */
function addRun(
  items: Item[],
  run: readonly RowItem[],
  hiding: Hiding,
  toggled: ReadonlySet<string>,
  chosenBy: string | undefined,
): void {
  const [first] = run
  if (first === undefined) return
  if (run.length >= FOLDABLE_FROM) {
    const compactionId = outermost(hiding, first.hiddenBy!)
    const key = `fold ${compactionId} ${placeOf(first)}`
    const isOpenFirst = run.length <= FOLDED_FROM || compactionId === chosenBy
    const isOpen = isOpenFirst !== toggled.has(key)
    const ends = { from: placeOf(first), to: placeOf(run.at(-1)!) }
    const messages = run.filter(({ kind }) => kind === 'message').length
    items.push({ kind: 'fold', key, ...ends, messages, isOpen, compactionId })
    if (!isOpen) return
  }
  for (const row of run) items.push(row)
}

/** The position of a row, or the position that an inserted row follows. */
export const placeOf = (row: RowItem): number => (row.kind === 'message' ? row.position : row.anchor)

/** Returns the rows at some positions, in the order of the view. Inserted rows without a message before them come first. */
function* rowsIn(
  { hiding }: ListOptions,
  stretches: readonly { readonly from: number; readonly to: number }[],
): Generator<RowItem> {
  const { ranges, inserted } = hiding
  for (const { from, to } of stretches) {
    let next = countBefore(ranges, ({ to: end }) => end < from)
    let row = from === 1 ? 0 : countBefore(inserted, ({ anchor }) => anchor < from)
    for (; inserted[row]?.anchor === 0; row++) yield inserted[row]!
    for (let position = from; position <= to; position++) {
      while (ranges[next] !== undefined && ranges[next]!.to < position) next++
      const range = ranges[next]
      const hiddenBy = range !== undefined && range.from <= position ? range.by : undefined
      yield { kind: 'message', key: position, position, hiddenBy }
      for (; inserted[row]?.anchor === position; row++) yield inserted[row]!
    }
  }
}

/** Returns the index of an item, or of the closed fold that contains it; -1 if the list has neither. */
export function indexOf(items: readonly Item[], target: number | string): number {
  const exact = items.findIndex(({ key }) => key === target)
  if (exact >= 0 || typeof target === 'string') return exact
  return items.findIndex(
    (item) => item.kind === 'fold' && !item.isOpen && item.from <= target && target <= item.to,
  )
}

/** Returns the next item, in a direction, at which a row is hidden and its neighbor isn't, or a row was inserted. */
export function nextBoundary(items: readonly Item[], from: number, direction: 1 | -1): number {
  for (let at = from + direction; at >= 0 && at < items.length; at += direction) {
    const item = items[at]!
    if (item.kind !== 'message') return at
    const before = items[at - 1]
    if (before?.kind === 'message' && before.hiddenBy !== item.hiddenBy) return at
  }
  return -1
}

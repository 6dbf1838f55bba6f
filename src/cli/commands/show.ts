import {
  type Part,
  type PositionRange,
  partsOf,
  type Role,
  type StoredMessage,
} from '../../core/messages/message.ts'
import { BROKEN_OFF, brokenOff } from '../../core/messages/stop-reason.ts'
import { shownTitle } from '../../core/messages/title.ts'
import type { Moment } from '../../core/model/moment.ts'
import type { CompactionKind } from '../../core/model/plan.ts'
import type { Compaction, MessageCounts, Session } from '../../storage/storage.ts'
import type { Store } from '../../store/store.ts'
import { positionWords } from '../../transfer/document/options.ts'
import { coveredPositions } from '../../transfer/document/session-document.ts'
import { sessionRows, spokenRows } from '../../transfer/session-rows.ts'
import type { Context, Output, Style } from '../command.ts'
import type { Given } from '../declarations.ts'
import { CliError, EXIT } from '../errors.ts'
import { counted, time } from '../output/figures.ts'
import { shortIds } from '../output/ids.ts'
import { paragraph, sentence } from '../output/layout.ts'
import { type Piece, rowStyle, shownPieces, viewContent } from '../output/message-text.ts'
import { nulled } from '../output/safe-text.ts'
import { momentOf, openSession } from '../references.ts'

type ShowOptions = Given<'show'>

/** A row as it is shown. */
type Entry = {
  readonly row: StoredMessage
  readonly content: string | readonly Part[]
  readonly hidden: HiddenBy | undefined
  /** Positions that a summary or marker replaces. */
  readonly positions: readonly PositionRange[]
  /** The compaction that inserted the row. */
  readonly insertedBy: string | undefined
}

/** Why a row is not in the view. */
type HiddenBy = {
  /** The compaction that hides it, or the undone one that inserted it. */
  readonly compaction: string
  readonly kind: CompactionKind | undefined
  readonly at: number | undefined
  /** Whether the row was inserted by a compaction that is undone. */
  readonly retired: boolean
}

export async function showSession(context: Context, given: string, options: ShowOptions): Promise<number> {
  const { from, to, limit, tail, full = false } = options
  if (from !== undefined && to !== undefined && from > to)
    throw new CliError('WRONG_USE', `--from ${from} is after --to ${to}.`)
  if (limit !== undefined && tail !== undefined)
    throw new CliError('WRONG_USE', "--limit and --tail can't be combined.")
  const { store, id } = await openSession(context, 'read', given)
  const session = await store.sessions.get(id)
  const compactions = await store.listCompactions(id)
  const at = options.at === undefined ? undefined : await momentOf(store, id, options.at)
  const { time: _, ...moment } = at === undefined ? { time: 0 } : await store.messages.moment(id, at)
  const entries = readEntries(store, session, compactions, { ...options, at })
  if (context.json) {
    const view = full ? 'full' : 'effective'
    const past = at === undefined ? {} : { moment }
    await context.pourJson({ session: id, view, ...past, messages: mapped(entries, entryJson) })
  } else {
    await context.page(
      printedRows(
        context,
        session,
        (await store.sessions.get(id, { counts: true })).counts,
        entries,
        compactions,
        options,
      ),
    )
  }
  const { viewEpoch } = await store.sessions.get(id)
  if (viewEpoch !== session.viewEpoch)
    context.err.write(
      context.style.yellow(
        'undertext: the session was changed while it was read; the output may mix the states before and after the change.\n',
      ),
    )
  return EXIT.done
}

/** The selected rows in order, read as they are taken. */
async function* readEntries(
  store: Store,
  session: Session,
  compactions: readonly Compaction[],
  options: Omit<ShowOptions, 'at'> & { readonly at: Moment | undefined },
): AsyncGenerator<Entry> {
  const { full = false, original = false, from, to, role, limit, tail, at } = options
  const entryOf = entryReader(compactions, original)
  const query = { visible: !full, shown: !original, from, to, at } as const
  const rows = (order: 'forward' | 'backward'): AsyncIterable<StoredMessage> => {
    const all = sessionRows(store, session, { ...query, order })
    return full ? all : spokenRows(all)
  }
  if (tail === undefined) {
    for await (const row of first(rows('forward'), role, limit)) yield entryOf(row)
    return
  }
  const last: StoredMessage[] = []
  for await (const row of first(rows('backward'), role, tail)) last.push(row)
  for (const row of last.reverse()) yield entryOf(row)
}

/** The first `most` rows of a role; later ones are not read. */
async function* first(
  rows: AsyncIterable<StoredMessage>,
  role: Role | undefined,
  most = Number.POSITIVE_INFINITY,
): AsyncGenerator<StoredMessage> {
  let taken = 0
  for await (const row of rows) {
    if (role !== undefined && row.role !== role) continue
    yield row
    taken += 1
    if (taken === most) return
  }
}

async function* mapped<T, U>(values: AsyncIterable<T>, change: (value: T) => U): AsyncGenerator<U> {
  for await (const value of values) yield change(value)
}

function entryReader(compactions: readonly Compaction[], original: boolean): (row: StoredMessage) => Entry {
  const byId = new Map(compactions.map((one) => [one.id, one] as const))
  const positionsOf = coveredPositions(compactions)
  return (row) => {
    const insertedBy = row.condenseId ?? row.truncationId
    const by = insertedBy === undefined || row.hidden ? undefined : byId.get(insertedBy)
    return {
      row,
      content: original ? row.content : viewContent(row),
      hidden: hiddenBy(row, byId),
      positions: by === undefined ? [] : positionsOf(by),
      insertedBy,
    }
  }
}

function hiddenBy(row: StoredMessage, compactions: ReadonlyMap<string, Compaction>): HiddenBy | undefined {
  const id = row.retiredBy ?? row.condenseParent ?? row.truncationParent
  if (!row.hidden || id === undefined) return undefined
  const found = compactions.get(id)
  const retired = row.retiredBy !== undefined
  return { compaction: id, kind: found?.kind, at: retired ? found?.changedAt : found?.createdAt, retired }
}

function entryJson({ row, content, hidden, positions, insertedBy }: Entry) {
  const { id, kind, role, position, createdAt, pinned, replacedParts = [] } = row
  const { compaction, kind: by = null, at = null, retired: undone } = hidden ?? {}
  const why = brokenOff(row)
  return {
    ...nulled({ id, kind, role, position, createdAt, pinned }),
    hidden: hidden === undefined ? null : { compaction, kind: by, at, undone },
    ...nulled({ replacedParts, positions, insertedBy }),
    ...(why !== undefined && { brokenOff: why }),
    content,
  }
}

async function* printedRows(
  { out, style }: Output,
  { id, title, messageCount }: Session,
  { messages, visible }: MessageCounts,
  entries: AsyncIterable<Entry>,
  compactions: readonly Compaction[],
  { full = false, fold, at = 'now' }: ShowOptions,
): AsyncGenerator<string> {
  const figures = `${counted(messages, 'message')} stored, ${counted(visible, 'row')} in the view`
  const what = `${full ? 'everything stored' : 'the view'}${at === 'now' ? '' : ` at ${at}`}`
  const head = [
    ...sentence(title === undefined ? id : `${id} · ${shownTitle(title)}`, out, style.bold),
    ...sentence(`${figures}; shown: ${what}`, out, style.dim),
  ]
  yield `${head.join('\n')}\n`
  const short = shortIds(compactions.flatMap((one) => [one.id, one.runId]))
  const shortId = (one: string): string => (out.isTerminal ? (short.get(one) ?? one) : one)
  let isEmpty = true
  for await (const entry of entries) {
    isEmpty = false
    yield `\n${entryLines(entry, { out, style, fold: fold && out.isTerminal, shortId }).join('\n')}\n`
  }
  if (!isEmpty) return
  const none = full ? 'No rows match.' : 'No rows of the view match; --full also shows hidden rows.'
  yield `\n${messageCount === 0 ? 'It has no messages yet.' : none}\n`
}

type Shown = Output & { readonly fold: boolean; readonly shortId: (id: string) => string }

/** A row as lines: a heading, then its contents. A hidden row is dimmed, with the reason. */
function entryLines(entry: Entry, shown: Shown): string[] {
  const { style, out } = shown
  const pieces = shownPieces(partsOf(entry), shown.fold)
  const nothing = pieces.length === 0 ? ['  (not sent to models)'] : []
  const heading = headingOf(entry, shown)
  if (entry.hidden !== undefined) {
    const body = pieces.flatMap((piece) => pieceLines(piece, out, (line) => line))
    return [...sentence(heading, out), ...nothing, ...body].map(style.dim)
  }
  const body = pieces.flatMap((piece) => pieceLines(piece, out, pieceStyle(piece, style)))
  return [
    ...sentence(heading, out, (line) => style.bold(rowStyle(entry.row, style)(line))),
    ...nothing.map(style.dim),
    ...body,
  ]
}

function headingOf({ row, insertedBy, positions, hidden }: Entry, { out, shortId }: Shown): string {
  const { kind, position, role, createdAt, replacedParts = [], pinned } = row
  const by = insertedBy === undefined ? '' : ` by ${shortId(insertedBy)}`
  const of = positions.length === 0 ? '' : ` of ${positionWords(positions)}`
  const why = brokenOff(row)
  return [
    kind === 'message' ? `${position} · ${role}` : `── ${kind}${of}${by}`,
    time(createdAt, out),
    pinned && 'pinned',
    why !== undefined && BROKEN_OFF[why],
    replacedParts.length > 0 && `${counted(replacedParts.length, 'part')} replaced`,
    hidden !== undefined && reasonOf(hidden, kind, out, shortId),
  ]
    .filter((note) => note !== false)
    .join(' · ')
}

/** What a kind of compaction does to the rows it covers, as a participle. */
const PARTICIPLES: { readonly [kind in CompactionKind]: string } = {
  prune: 'pruned',
  deduplicate: 'deduplicated',
  condense: 'condensed',
  truncate: 'truncated',
  cut: 'cut to fit the window',
  manual: 'removed',
  provider: 'compacted by its provider',
  preview: 'shown as a preview',
  repair: 'shown differently for a provider that rejected it',
}

function reasonOf(
  { compaction, kind: by, at, retired }: HiddenBy,
  kind: StoredMessage['kind'],
  out: Output['out'],
  shortId: (id: string) => string,
): string {
  const when = at === undefined ? '' : `, ${time(at, out)}`
  if (retired) return `hidden: its compaction ${shortId(compaction)} was undone${when}`
  const participle = by === undefined ? 'hidden' : PARTICIPLES[by]
  return `hidden: ${participle}${kind === 'message' ? '' : ' again'} by ${shortId(compaction)}${when}`
}

function pieceLines({ head, text }: Piece, out: Output['out'], look: (line: string) => string): string[] {
  const above = head === undefined ? [] : paragraph(head, out, '  ')
  const body = text === '' ? [] : paragraph(text, out, head === undefined ? '  ' : '    ')
  return [...above, ...body].map((line) => (line === '' ? line : look(line)))
}

function pieceStyle({ kind }: Piece, style: Style): (line: string) => string {
  return {
    text: (line: string) => line,
    reasoning: style.gray,
    result: style.gray,
    call: style.yellow,
    failure: style.red,
    media: style.magenta,
  }[kind]
}

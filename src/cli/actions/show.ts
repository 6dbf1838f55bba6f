import { partsOf, type Role, type StoredMessage } from '../../messages/message.ts'
import type { Compaction, MessageCounts, Session } from '../../storage/storage.ts'
import type { SqliteStore } from '../../store/open.ts'
import { positionWords } from '../../transfer/document/options.ts'
import { sessionRows } from '../../transfer/session-rows.ts'
import { standsFor } from '../../transfer/stands-for.ts'
import { CliError } from '../cli-error.ts'
import type { Context, Sink, Style } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { counted, time } from '../output/figures.ts'
import { paragraph } from '../output/layout.ts'
import { safeLine } from '../output/safe-text.ts'
import { shortIds } from '../output/short-ids.ts'
import type { Entry } from '../transcript/entry.ts'
import { doneBy, hiddenBy } from '../transcript/hidden-by.ts'
import { type Piece, piecesOf } from '../transcript/part-lines.ts'
import { viewContent } from '../transcript/view-content.ts'

export type Manner = {
  readonly out: Sink
  readonly style: Style
  readonly fold: boolean
  /** How an id of a compaction is written. */
  readonly shortId: (id: string) => string
}

/** A row of a session as lines: a heading, then what it says. What is hidden is dimmed and says why. */
export function entryLines(entry: Entry, manner: Manner): string[] {
  const { style, out } = manner
  const pieces = piecesOf(partsOf(entry), manner.fold)
  const nothing = pieces.length === 0 ? [`${INDENT}(nothing that a model is sent)`] : []
  if (entry.hidden !== undefined) {
    const body = pieces.flatMap((piece) => pieceLines(piece, out, undefined))
    return [...paragraph(headingOf(entry, manner), out), ...nothing, ...body].map((line) => style.dim(line))
  }
  const heading = paragraph(headingOf(entry, manner), out).map((line) => headingStyle(entry, style)(line))
  return [...heading, ...nothing.map(style.dim), ...pieces.flatMap((piece) => pieceLines(piece, out, style))]
}

function headingStyle({ kind, role }: Entry, style: Style): (text: string) => string {
  if (kind !== 'message') return (text) => style.bold(style.magenta(text))
  const colour = { user: style.cyan, assistant: style.green, tool: style.blue, system: style.yellow }[role]
  return (text) => style.bold(colour(text))
}

function headingOf(entry: Entry, { out, shortId }: Manner): string {
  const { kind, position, role, createdAt, insertedBy, standsFor, replacedParts, pinned, hidden } = entry
  const by = insertedBy === undefined ? '' : ` by ${shortId(insertedBy)}`
  const stands = standsFor.length === 0 ? '' : ` of ${positionWords(standsFor)}`
  const first = kind === 'message' ? `${position} · ${role}` : `── ${kind}${stands}${by}`
  const notes = [
    time(createdAt, out),
    ...(pinned ? ['pinned'] : []),
    ...(replacedParts.length > 0 ? [`${counted(replacedParts.length, 'part')} replaced`] : []),
    ...(hidden === undefined ? [] : [reasonOf(entry, out, shortId)]),
  ]
  return safeLine(`${first} · ${notes.join(' · ')}`)
}

function reasonOf({ hidden, kind }: Entry, out: Sink, shortId: (id: string) => string): string {
  const { compaction, kind: by, at, retired } = hidden!
  const when = at === undefined ? '' : `, ${time(at, out)}`
  if (retired) return `hidden: its compaction ${shortId(compaction)} is undone${when}`
  const verb = by === undefined ? 'hidden' : doneBy(by)
  return `hidden: ${verb}${kind === 'message' ? '' : ' in its turn'} by ${shortId(compaction)}${when}`
}

const INDENT = '  '

function pieceLines(piece: Piece, out: Sink, style: Style | undefined): string[] {
  const look = style === undefined ? (line: string) => line : pieceStyle(piece, style)
  const head = piece.head === undefined ? [] : paragraph(piece.head, out, INDENT)
  const body =
    piece.text === '' ? [] : paragraph(piece.text, out, piece.head === undefined ? INDENT : INDENT.repeat(2))
  return [...head, ...body].map((line) => (line === '' ? line : look(line)))
}

function pieceStyle({ kind }: Piece, style: Style): (line: string) => string {
  switch (kind) {
    case 'text':
      return (line) => line
    case 'reasoning':
    case 'result':
      return style.gray
    case 'call':
      return style.yellow
    case 'failure':
      return style.red
    case 'media':
      return style.magenta
  }
}

export type ShowOptions = {
  readonly full?: boolean
  readonly original?: boolean
  readonly from?: number
  readonly to?: number
  readonly limit?: number
  readonly tail?: number
  readonly role?: Role
  readonly fold: boolean
}

export async function showSession(context: Context, given: string, options: ShowOptions): Promise<number> {
  checkRange(options)
  const store = await context.open('read')
  const id = await context.session(store, given)
  const session = await store.getSession(id)
  const compactions = await store.listCompactions(id)
  const entries = chosen(store, session, compactions, options)
  if (context.json) {
    const view = options.full === true ? 'full' : 'effective'
    await context.pourJson({ session: id, view, messages: mapped(entries, jsonOf) })
  } else {
    await context.page(textOf(context, session, await store.countMessages(id), entries, compactions, options))
  }
  const { viewEpoch } = await store.getSession(id)
  if (viewEpoch !== session.viewEpoch) context.err.write(context.style.yellow(CHANGED))
  return EXIT.done
}

const CHANGED =
  'undertext: the session was changed while it was read; what is shown may be partly as before and partly as after.\n'

function checkRange({ from, to, limit, tail }: ShowOptions): void {
  if (from !== undefined && to !== undefined && from > to)
    throw new CliError('WRONG_USE', `--from ${from} is behind --to ${to}.`)
  if (limit !== undefined && tail !== undefined)
    throw new CliError('WRONG_USE', '--limit and --tail exclude each other.')
}

/** The rows that are wanted, in order, read as they are taken. */
async function* chosen(
  store: SqliteStore,
  session: Session,
  compactions: readonly Compaction[],
  { full = false, original = false, from, to, role, limit, tail }: ShowOptions,
): AsyncGenerator<Entry> {
  const entryOf = entryReader(compactions, original)
  const asked = { visible: !full, shown: !original, from, to }
  const isWanted = (row: StoredMessage): boolean => role === undefined || row.role === role
  if (tail === undefined) {
    for await (const row of first(sessionRows(store, session, asked), isWanted, limit)) yield entryOf(row)
    return
  }
  const last: StoredMessage[] = []
  for await (const row of first(sessionRows(store, session, { ...asked, order: 'backward' }), isWanted, tail))
    last.push(row)
  for (const row of last.reverse()) yield entryOf(row)
}

/** The first so many rows that are wanted; none behind them are read. */
async function* first(
  rows: AsyncIterable<StoredMessage>,
  isWanted: (row: StoredMessage) => boolean,
  most = Number.POSITIVE_INFINITY,
): AsyncGenerator<StoredMessage> {
  let taken = 0
  for await (const row of rows) {
    if (!isWanted(row)) continue
    yield row
    taken += 1
    if (taken === most) return
  }
}

async function* mapped<T, U>(values: AsyncIterable<T>, change: (value: T) => U): AsyncGenerator<U> {
  for await (const value of values) yield change(value)
}

/** A function that makes a stored row ready to be shown: as the view has it, or with its original. */
function entryReader(compactions: readonly Compaction[], original: boolean): (row: StoredMessage) => Entry {
  const byId = new Map(compactions.map((one) => [one.id, one] as const))
  const positionsOf = standsFor(compactions)
  return (row) => {
    const { id, kind, role, position, createdAt, pinned, replacedParts = [] } = row
    const insertedBy = row.condenseId ?? row.truncationId
    const by = insertedBy === undefined || row.hidden ? undefined : byId.get(insertedBy)
    return {
      id,
      kind,
      role,
      position,
      createdAt,
      pinned,
      replacedParts,
      content: original ? row.content : viewContent(row),
      hidden: hiddenBy(row, byId),
      standsFor: by === undefined ? [] : positionsOf(by),
      insertedBy,
    }
  }
}

/** What `--json` tells of a row. */
function jsonOf({ hidden, ...entry }: Entry) {
  return {
    id: entry.id,
    kind: entry.kind,
    role: entry.role,
    position: entry.position ?? null,
    createdAt: entry.createdAt,
    pinned: entry.pinned,
    hidden:
      hidden === undefined
        ? null
        : {
            compaction: hidden.compaction,
            kind: hidden.kind ?? null,
            at: hidden.at ?? null,
            undone: hidden.retired,
          },
    replacedParts: entry.replacedParts,
    standsFor: entry.standsFor,
    insertedBy: entry.insertedBy ?? null,
    content: entry.content,
  }
}

/** Letters that make a piece of the text. */
const ENOUGH = 65_536

async function* textOf(
  context: Context,
  { id, title, messageCount }: Session,
  { messages, visible }: MessageCounts,
  entries: AsyncIterable<Entry>,
  compactions: readonly Compaction[],
  { full = false, fold }: ShowOptions,
): AsyncGenerator<string> {
  const { out, style } = context
  const name = title === undefined ? id : `${id} · ${title}`
  const figures = `${counted(messages, 'message')} stored, ${counted(visible, 'row')} in the view`
  const what = full ? 'everything stored' : 'the view'
  const head = [
    ...paragraph(safeLine(name), out).map((line) => style.bold(line)),
    ...paragraph(`${figures}; shown: ${what}`, out).map((line) => style.dim(line)),
  ]
  let text = `${head.join('\n')}\n`
  let isEmpty = true
  const short = shortIds(compactions.flatMap((one) => [one.id, one.runId]))
  const shortId = (one: string): string => (out.isTerminal ? (short.get(one) ?? one) : one)
  const manner = { out, style, fold: fold && out.isTerminal, shortId }
  for await (const entry of entries) {
    isEmpty = false
    text += `\n${entryLines(entry, manner).join('\n')}\n`
    if (text.length < ENOUGH) continue
    yield text
    text = ''
  }
  yield isEmpty ? `${text}\n${noneOf(messageCount, full)}\n` : text
}

function noneOf(messages: number, full: boolean): string {
  if (messages === 0) return 'It has no messages yet.'
  return full ? 'No row is like that.' : 'No row of the view is like that; --full shows what is hidden too.'
}

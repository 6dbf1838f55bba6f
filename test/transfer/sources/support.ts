import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import type { PositionRange } from '../../../src/core/messages/message.ts'
import type { ImportedCompaction, NewMessage } from '../../../src/index.ts'
import type { Input, NoteEvent, Source, SourceEvent } from '../../../src/transfer/source.ts'
import { sharedPath } from '../../support/shared.ts'

/** Text as a file, in pieces of a few bytes, so that every reader meets cuts within its lines. */
export function inputOf(text: string, { name = 'file', folder = 'folder', piece = 1_000 } = {}): Input {
  const bytes = new TextEncoder().encode(text)
  return {
    name,
    folder,
    size: bytes.length,
    async *bytes() {
      for (let from = 0; from < bytes.length; from += piece) yield bytes.slice(from, from + piece)
    },
  }
}

/** Values as lines of JSON. */
export function linesOf(values: readonly unknown[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join('')
}

/** All events of a file, read twice to see that they are the same. */
export async function eventsOf(source: Source, input: Input, branches = false): Promise<SourceEvent[]> {
  const all: SourceEvent[][] = [[], []]
  for (const events of all) for await (const event of source.read(input, { branches })) events.push(event)
  expect(all[1]).toEqual(all[0])
  return all[0]!
}

export function eventsOfType<T extends SourceEvent['type']>(
  events: readonly SourceEvent[],
  type: T,
): Extract<SourceEvent, { type: T }>[] {
  return events.filter((event): event is Extract<SourceEvent, { type: T }> => event.type === type)
}

/** The notes and problems of events, as `kind: why`. */
export function notesOf(events: readonly SourceEvent[]): string[] {
  const told = events.filter((event): event is NoteEvent => event.type === 'note')
  return told.map(({ kind, why }) => `${kind}: ${why}`)
}

/** A conversation as it comes out of events, by the plain meaning of `source.ts`, without a store. */
export type Folded = {
  readonly id: string | undefined
  readonly branchOf: string | undefined
  readonly messages: readonly NewMessage[]
  readonly compactions: readonly ImportedCompaction[]
  /** What is visible in the end: messages, and texts of summaries and markers. */
  readonly view: readonly (NewMessage | InsertedText)[]
}
export type InsertedText = { readonly inserted: 'condense' | 'truncate' | 'manual'; readonly text: string }

type Row = { readonly anchor: number; readonly shows: NewMessage | InsertedText; hidden: boolean }

/** The conversations that events tell. What a compaction covers must be there and, for a summary, follow each other. */
export function foldEvents(events: readonly SourceEvent[]): Folded[] {
  const conversations: { told: SourceEvent[]; id?: string; branchOf?: string }[] = []
  for (const event of events) {
    if (event.type === 'conversation') conversations.push({ ...event, told: [] })
    else conversations.at(-1)?.told.push(event)
  }
  return conversations.map(({ id, branchOf, told }) => foldConversation(id, branchOf, told))
}

function foldConversation(
  id: string | undefined,
  branchOf: string | undefined,
  events: readonly SourceEvent[],
): Folded {
  let rows: Row[] = []
  const compactions = eventsOfType(events, 'compaction').map(({ compaction }) => compaction)
  const messages: NewMessage[] = []
  expect(new Set(compactions.map((one) => one.id)).size, 'ids of compactions').toBe(compactions.length)
  for (const event of events) {
    if (event.type === 'message') {
      messages.push(event.message)
      rows.push({ anchor: messages.length, shows: event.message, hidden: false })
    } else if (event.type === 'compaction') rows = compacted(rows, event.compaction, messages.length)
  }
  const keys = messages.map(({ idempotencyKey }) => idempotencyKey)
  expect(keys.every((key) => key !== undefined)).toBe(true)
  expect(new Set(keys).size, 'idempotency keys').toBe(keys.length)
  return {
    id,
    branchOf,
    messages,
    compactions,
    view: rows.filter((row) => !row.hidden).map((row) => row.shows),
  }
}

function compacted(rows: readonly Row[], one: ImportedCompaction, told: number): Row[] {
  expect(one.covers.length, one.id).toBeGreaterThan(0)
  let before = 0
  for (const [from, to] of one.covers) {
    expect(from, `${one.id}: ranges in order`).toBeGreaterThan(before)
    expect(to).toBeGreaterThanOrEqual(from)
    before = to
  }
  expect(before, `${one.id}: told behind what it covers`).toBeLessThanOrEqual(told)
  const isCovered = ({ anchor, hidden, shows }: Row): boolean =>
    !hidden &&
    isIn(one.covers, anchor) &&
    (one.kind === 'condense' || !('inserted' in shows && shows.inserted === 'condense'))
  const covered = rows.filter(isCovered)
  expect(covered.length, `${one.id} covers something`).toBeGreaterThan(0)
  const last = rows.indexOf(covered.at(-1)!)
  if (one.kind === 'condense') {
    const span = rows.slice(rows.indexOf(covered[0]!), last + 1).filter((row) => !row.hidden)
    expect(span.length, `${one.id} covers what follows each other`).toBe(covered.length)
    expect(one.text, `${one.id} has a summary`).toBeTypeOf('string')
  }
  if (one.undone === true) return [...rows]
  const hidden = rows.map((row) => (covered.includes(row) ? { ...row, hidden: true } : row))
  if (one.text === undefined) return hidden
  const inserted = {
    anchor: covered.at(-1)!.anchor,
    shows: { inserted: one.kind, text: one.text },
    hidden: false,
  }
  return hidden.toSpliced(last + 1, 0, inserted)
}

function isIn(ranges: readonly PositionRange[], at: number): boolean {
  return ranges.some(([from, to]) => from <= at && at <= to)
}

/** The view without the rows that say nothing. */
export function spokenOf({ view }: Folded): (NewMessage | InsertedText)[] {
  return view.filter((row) => 'inserted' in row || row.content.length > 0)
}

/** A golden file of other agents, or `undefined` with a notice where it is absent. */
export function goldenOf<T>(name: string): T | undefined {
  const path = sharedPath(`golden/agents/${name}.json`)
  return path === undefined ? undefined : (JSON.parse(readFileSync(path, 'utf8')) as T)
}

import type { Json, JsonObject } from '../../core/messages/json.ts'
import { parseStoredObject } from './content-codec.ts'
import type { Sql } from './sql.ts'
import type { Work } from './work.ts'

type NewEntry = {
  readonly event: string
  readonly compaction?: number | undefined
  readonly run?: string | undefined
  readonly actor?: string | undefined
  readonly detail?: JsonObject | undefined
}

/** The maximum size of a row's texts in bytes. With its numbers and SQLite's overhead, a row fits into 4 KB. */
const MAX_BYTES = 3_900
/**
 * The maximum size in bytes of each text if a row is too large even without its ids. Three of the texts may be as long as a name can be.
 */
const MAX_TEXT_BYTES = 1_024

/** Writes a row of the audit with the log's last position, within the caller's transaction; returns its number. */
export function* writeAudit(sql: Sql, session: number, entry: NewEntry): Work<number> {
  const { event, run, actor, detail } = bounded(entry)
  return yield* sql.insert(
    session === 0 ? INSERT_OF_NONE : INSERT,
    yield* sql.nextNo('undertext_audit', session),
    session,
    event,
    entry.compaction ?? null,
    run ?? null,
    Date.now(),
    actor ?? null,
    detail === undefined ? null : JSON.stringify(detail),
    ...(session === 0 ? [] : [session]),
  )
}

/** All columns of an entry. */
export const AUDIT_COLUMNS = 'no session event compaction run at actor detail position'.split(' ')
const INTO = `insert into undertext_audit ({family,} ${AUDIT_COLUMNS.join(', ')})`
const INSERT = `${INTO} select {family, s} ?, ?, ?, ?, ?, ?, ?, ?, s.messages from undertext_sessions s where {family s} s.no = ?`
/** The receipt of a purge belongs to no session. */
const INSERT_OF_NONE = `${INTO} values ({?,} ?, ?, ?, ?, ?, ?, ?, ?, null)`

/** The event of a removal of text. Its entry names the view epoch after it, so that a plan that was made before is stale. */
export const TEXT_PURGED = 'text purged'

/** The event of a removal by retention. Its entry names the view epoch too, because the sizes in an older plan may be wrong. */
export const RETIRED_BY_RULE = 'retired'

/** Records a removal from the entered session. */
export function* writeRemoval(
  sql: Sql,
  session: number,
  {
    event,
    actor,
    detail,
  }: { readonly event: string; readonly actor: string | undefined; readonly detail: JsonObject },
): Work<void> {
  const row = yield* sql.get('select view_epoch from undertext_sessions where {family} no = ?', session)
  yield* writeAudit(sql, session, { event, actor, detail: { ...detail, viewEpoch: row![0] as number } })
}

/** Returns whether something was removed from a session after a view epoch. A plan of that epoch may contain the text. */
export function* isPurgedSince(sql: Sql, session: number, viewEpoch: number): Work<boolean> {
  const row = yield* sql.get(
    'select detail from undertext_audit where {family} session = ? and event in (?, ?) order by no desc limit 1',
    ...[session, TEXT_PURGED, RETIRED_BY_RULE],
  )
  if (row === undefined) return false
  const { viewEpoch: purged } = parseStoredObject(row[0], 'detail', 'audit entry of a removal')
  return (purged as number) > viewEpoch
}

/** Limits the size of a row: first lists of ids are shortened (the row has their number), then names and reasons. */
function bounded(entry: NewEntry): NewEntry {
  if (bytesOf(entry) <= MAX_BYTES) return entry
  const withoutLists = {
    ...entry,
    detail: entry.detail && mapValues(entry.detail, (value) => (Array.isArray(value) ? undefined : value)),
  }
  if (bytesOf(withoutLists) <= MAX_BYTES) return { ...entry, detail: withShorterLists(entry) }
  return {
    ...withoutLists,
    actor: entry.actor === undefined ? undefined : shortened(entry.actor),
    detail:
      withoutLists.detail &&
      mapValues(withoutLists.detail, (value) => (typeof value === 'string' ? shortened(value) : value)),
  }
}

function bytesOf({ event, run, actor, detail }: NewEntry): number {
  const json = detail === undefined ? '' : JSON.stringify(detail)
  return Buffer.byteLength(`${event}${run ?? ''}${actor ?? ''}${json}`)
}

function withShorterLists(entry: NewEntry): JsonObject {
  let detail = entry.detail!
  while (bytesOf({ ...entry, detail }) > MAX_BYTES) {
    detail = mapValues(detail, (value) => (Array.isArray(value) ? value.slice(0, -1) : value))
  }
  return mapValues(detail, (value) => (Array.isArray(value) && value.length === 0 ? undefined : value))
}

function shortened(text: string): string {
  if (jsonBytes(text) <= MAX_TEXT_BYTES) return text
  const characters = [...text]
  // Cuts the excess until the text fits, without splitting a character.
  while (jsonBytes(`${characters.join('')}…`) > MAX_TEXT_BYTES) {
    const excess = jsonBytes(`${characters.join('')}…`) - MAX_TEXT_BYTES
    characters.length -= Math.ceil(excess / 12)
  }
  return `${characters.join('')}…`
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text))
}

function mapValues(detail: JsonObject, change: (value: Json | undefined) => Json | undefined): JsonObject {
  return Object.fromEntries(Object.entries(detail).map(([name, value]) => [name, change(value)]))
}

import type { Estimator } from '../../tokens/estimators/estimator-schema.ts'
import { writeAudit } from './audit.ts'
import type { Connection } from './connection.ts'
import { VISIBLE } from './history.ts'
import { type Recounted, recountRows } from './recount.ts'
import { requireSession, type StoredSession } from './sessions.ts'
import { SIZE_TOTALS } from './tagging.ts'
import { encodeTools } from './tools-codec.ts'

/** Counts all rows of a session anew with an estimator and records it. Throws `SESSION_NOT_FOUND`. */
export function reestimate(connection: Connection, id: string, estimator: Estimator): StoredSession {
  return connection.write('reestimate', () => {
    const session = requireSession(connection, id)
    for (const row of recountRows(connection, session.no, estimator)) writeRecounted(connection, row)
    connection.run('update undertext_sessions set estimator = ? where no = ?', estimator.name, session.no)
    resetCounters(connection, session.no)
    writeAudit(connection, session.no, {
      event: 'reestimated',
      detail: { from: session.estimator, to: estimator.name },
    })
    return requireSession(connection, id)
  })
}

/** Writes what was counted anew, within the caller's transaction. */
export function writeRecounted(
  connection: Connection,
  { key, index, replacements, shown, shownSizes }: Recounted,
): void {
  connection.run(
    `update undertext_messages set tools = ?, shown = ?, size_text = ?, size_reasoning = ?, size_calls = ?, size_results = ?,
       size_media = ? where key = ?`,
    encodeTools(index),
    shown,
    shownSizes.text,
    shownSizes.reasoning,
    shownSizes.toolCalls,
    shownSizes.toolResults,
    shownSizes.media,
    key,
  )
  for (const { compaction, part, saved } of replacements) {
    connection.run(
      `update undertext_replacements set saved_text = ?, saved_reasoning = ?, saved_results = ?, saved_media = ?
       where compaction = ? and message = ? and part = ?`,
      saved.text,
      saved.reasoning,
      saved.toolResults,
      saved.media,
      compaction,
      key,
      part,
    )
  }
}

/** The counters of a session as its rows and compactions say they must be. */
export function countAll(connection: Connection, session: number): readonly number[] {
  const row = connection.get(
    `with this(no) as (select ?)
     select
       (select count(*) from undertext_messages where session = (select no from this) and position is not null),
       (select coalesce(max(ordinal), 0) from undertext_messages where session = (select no from this) and position is null),
       count(*), ${SIZE_TOTALS},
       (select count(*) from undertext_messages where session = (select no from this) and condense_parent is not null),
       (select count(*) from undertext_messages m join undertext_compactions c on c.no = m.truncation_parent
        where m.session = (select no from this) and c.kind <> 'manual'),
       (select count(*) from undertext_messages m join undertext_compactions c on c.no = m.truncation_parent
        where m.session = (select no from this) and c.kind = 'manual'),
       (select count(*) from undertext_messages where session = (select no from this) and retired_by is not null),
       (select count(*) from undertext_compactions where session = (select no from this) and status = 'active')
     from undertext_messages indexed by undertext_visible where session = (select no from this) and ${VISIBLE}`,
    session,
  )
  return row as number[]
}

/** Sets the counters to what they must be, within the caller's transaction. Raises version and view epoch. */
export function resetCounters(connection: Connection, session: number): void {
  connection.run(
    `update undertext_sessions set messages = ?, inserted = ?, visible = ?, size_text = ?, size_reasoning = ?, size_calls = ?,
       size_results = ?, size_media = ?, hidden_condensed = ?, hidden_truncated = ?, hidden_by_hand = ?, retired = ?,
       active_compactions = ?, version = version + 1, view_epoch = view_epoch + 1 where no = ?`,
    ...countAll(connection, session),
    session,
  )
}

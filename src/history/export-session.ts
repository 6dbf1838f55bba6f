import {
  HISTORY_FORMAT,
  HISTORY_VERSION,
  type HistoryRecord,
  headRecords,
  isRow,
  type ReplacementRecord,
  type RowRecord,
} from '../core/history/records.ts'
import type { ExportedHead, Storage } from '../storage/storage.ts'
import { PACKAGE_VERSION } from '../version.ts'

/** The records of a session: what changes as it is now, the rows page by page, whatever is written meanwhile. */
export async function* exportSession(
  storage: Storage,
  sessionId: string,
): AsyncGenerator<HistoryRecord, void, undefined> {
  const exported = await storage.histories.head(sessionId)
  yield {
    ...{ type: 'header', format: HISTORY_FORMAT, version: HISTORY_VERSION },
    ...{ package: PACKAGE_VERSION, exportedAt: Date.now() },
  }
  yield* headRecords(exported.head)
  const counts = { messages: 0, inserted: 0, replacements: 0 }
  for await (const record of rowsOf(storage, exported)) {
    if (!isRow(record)) counts.replacements += 1
    else if (record.type === 'message') counts.messages += 1
    else counts.inserted += 1
    yield record
  }
  const { compactions, audit } = exported.head
  yield { type: 'end', compactions: compactions.length, audit: audit.length, ...counts }
}

/** The rows of a session, each followed by what is shown in its place. */
export async function* rowsOf(
  storage: Storage,
  exported: ExportedHead,
): AsyncGenerator<RowRecord | ReplacementRecord, void, undefined> {
  for (let after: number | undefined = 0; after !== undefined; ) {
    const { records, next } = await storage.histories.rows(exported, after)
    yield* records
    after = next
  }
}

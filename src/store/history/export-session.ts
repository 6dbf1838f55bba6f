import { UndertextError } from '../../core/errors.ts'
import { PACKAGE_VERSION } from '../../core/version.ts'
import { HistoryCheck } from '../../storage/records/history-check.ts'
import {
  HISTORY_FORMAT,
  HISTORY_VERSION,
  type HistoryRecord,
  headRecords,
  type ReplacementRecord,
  type RowRecord,
} from '../../storage/records/records.ts'
import type { ExportedHead, Storage } from '../../storage/storage.ts'

/**
 * Yields the records of a session: its changing data as of one moment, then the rows page by page, whatever is written in the meantime.
 * Each record is checked as in a restore, because an export that can't be restored is useless. Throws `STORE_CORRUPT` if the check fails.
 */
export async function* exportSession(
  storage: Storage,
  sessionId: string,
): AsyncGenerator<HistoryRecord, void, undefined> {
  yield* exportedRecords(storage, await storage.histories.head(sessionId))
}

/** Yields the records of a session whose head was read. */
export async function* exportedRecords(
  storage: Storage,
  exported: ExportedHead,
): AsyncGenerator<HistoryRecord, void, undefined> {
  const check = new HistoryCheck()
  for await (const record of uncheckedRecords(storage, exported, check)) {
    const problem = check.take(record)
    if (problem !== undefined)
      throw new UndertextError('STORE_CORRUPT', {
        detail: `a ${record.type} record of the session is invalid: ${problem}`,
      })
    yield record
  }
}

async function* uncheckedRecords(
  storage: Storage,
  exported: ExportedHead,
  check: HistoryCheck,
): AsyncGenerator<HistoryRecord, void, undefined> {
  yield {
    ...{ type: 'header', format: HISTORY_FORMAT },
    version: HISTORY_VERSION,
    ...{ package: PACKAGE_VERSION, exportedAt: Date.now() },
  }
  yield* headRecords(exported.head)
  yield* exportedRows(storage, exported)
  const { compactions, audit } = exported.head
  yield { type: 'end', ...check.counts, compactions: compactions.length, audit: audit.length }
}

/** Yields the rows and replacements of a session as of the moment when its head was read. */
export async function* exportedRows(
  { histories }: Storage,
  exported: ExportedHead,
): AsyncGenerator<RowRecord | ReplacementRecord, void, undefined> {
  for (let after: number | undefined = 0; after !== undefined; ) {
    const { records, next } = await histories.rows(exported, after)
    yield* records
    after = next
  }
}

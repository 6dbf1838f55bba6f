import { expect } from 'vitest'
import type { Store } from '../../src/index.ts'
import type { HistoryRecord } from '../../src/storage/records/records.ts'
import { historyLines, type RestoredHistory, restoreFrom } from '../../src/transfer/history-lines.ts'

/** The records of a session. */
export async function recordsOf(store: Store, id: string): Promise<HistoryRecord[]> {
  const records: HistoryRecord[] = []
  for await (const record of store.sessions.export(id)) records.push(record)
  return records
}

/** The lines of a session, without their line feeds. */
export async function linesOf(store: Store, id: string): Promise<string[]> {
  return linesFrom(await recordsOf(store, id))
}

export async function linesFrom(records: readonly HistoryRecord[]): Promise<string[]> {
  const lines: string[] = []
  for await (const line of historyLines(records)) {
    expect(line.endsWith('\n')).toBe(true)
    lines.push(line.slice(0, -1))
  }
  return lines
}

/** Lines with their numbers, as a reader of files gives them. */
export function numbered(lines: readonly string[]): { number: number; text: string }[] {
  return lines.map((text, index) => ({ number: index + 1, text }))
}

/** Restores the histories of lines; answers what became of each. A refusal is thrown as the error it was. */
export async function restoreLines(
  store: Store,
  lines: readonly string[],
  { id }: { readonly id?: string } = {},
): Promise<RestoredHistory[]> {
  const done: RestoredHistory[] = []
  for await (const one of restoreFrom(store, numbered(lines), id === undefined ? {} : { ids: [id] })) {
    if ('refused' in one) throw Object.assign(new Error(one.refused.why), one.refused)
    done.push(one)
  }
  return done
}

/** Everything a store says of a session, but for the numbers of its audit, which other sessions share. */
export async function everythingOf(store: Store, id: string): Promise<object> {
  const { id: _, ...session } = await store.sessions.get(id)
  const audit = await store.sessions.audit(id, { limit: 10_000 })
  return {
    session,
    findings: (await store.sessions.verify(id)).findings,
    messages: await store.getMessages(id),
    view: await store.getEffectiveHistory(id, { provenance: true }),
    compactions: await store.listCompactions(id),
    audit: audit.map(({ no: _no, ...entry }) => entry),
    usage: await store.requests.usage(id),
    rendered: await store.renderHistory(id, { provider: 'anthropic' }),
  }
}

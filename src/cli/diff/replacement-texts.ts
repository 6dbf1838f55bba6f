import type { SqliteStore } from '../../store/open.ts'
import type { ReplacementText } from './view-at.ts'

/** The texts of all replacements of a session, those out of force too: of the session's history, which alone tells them. */
export async function replacementTexts(store: SqliteStore, sessionId: string): Promise<ReplacementText[]> {
  const texts: ReplacementText[] = []
  for await (const record of store.exportSession(sessionId)) {
    if (record.type !== 'replacement') continue
    const { compaction, message, part, text } = record
    texts.push({ compactionId: compaction, messageId: message, part, text })
  }
  return texts
}

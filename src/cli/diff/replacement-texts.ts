import { loadDriver } from '../../storage/sqlite/driver.ts'
import { rowId } from '../../storage/sqlite/row-codec.ts'
import type { ReplacementText } from './view-at.ts'

type Row = {
  readonly compaction: string
  readonly incarnation: string
  readonly id: string | null
  readonly position: number | null
  readonly ordinal: number
  readonly part: number
  readonly text: string
}

/** The texts of all replacements of a session, those out of force too, which no verb of the store answers. */
export async function replacementTexts(path: string, sessionId: string): Promise<ReplacementText[]> {
  const Driver = await loadDriver()
  const database = new Driver(path, { readonly: true })
  try {
    const rows = database
      .prepare<[string], Row>(
        `select c.id as compaction, s.incarnation, m.id, m.position, m.ordinal, r.part, r.text
         from undertext_sessions s join undertext_compactions c on c.session = s.no
         join undertext_replacements r on r.compaction = c.no join undertext_messages m on m.key = r.message
         where s.id = ? order by c.no, m.anchor, m.ordinal, r.part`,
      )
      .all(sessionId)
    return rows.map(({ compaction, incarnation, id, position, ordinal, part, text }) => ({
      compactionId: compaction,
      messageId: rowId(incarnation, id, position, ordinal),
      part,
      text: JSON.parse(text) as string | null,
    }))
  } finally {
    database.close()
  }
}

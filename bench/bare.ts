import Database from 'better-sqlite3'
import type { NewMessage } from 'undertext'

/*
 * What one would write by hand: prepared better-sqlite3 statements that write the same rows into the same tables,
 * indexes, counters and triggers from the same objects, `JSON.stringify` included; without validation, without
 * counting sizes, without ids.
 */

export type Durability = 'full' | 'normal'

export function openBare(file: string, durability: Durability): Database.Database {
  const database = new Database(file)
  database.pragma('journal_mode = wal')
  database.pragma(`synchronous = ${durability}`)
  return database
}

const ROLES = ['system', 'user', 'assistant', 'tool']

/** Appends turns to a session that already exists. */
export class BareAppender {
  readonly #begin: Database.Statement
  readonly #commit: Database.Statement
  readonly #head: Database.Statement
  readonly #message: Database.Statement
  readonly #content: Database.Statement
  readonly #counters: Database.Statement

  constructor(database: Database.Database) {
    this.#begin = database.prepare('begin immediate')
    this.#commit = database.prepare('commit')
    this.#head = database.prepare('select no, messages from undertext_sessions where id = ?').raw()
    this.#message = database.prepare(
      `insert into undertext_messages (session, anchor, position, role, flags, id, size_text, size_reasoning, size_calls,
         size_results, size_media, tools, created_at, idempotency_key) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#content = database.prepare(
      'insert into undertext_contents (key, content, metadata, blobs) values (?, ?, ?, ?)',
    )
    this.#counters = database.prepare(
      `update undertext_sessions set messages = messages + ?, visible = visible + ?, size_text = size_text + ?,
         size_reasoning = size_reasoning + ?, size_calls = size_calls + ?, size_results = size_results + ?,
         size_media = size_media + ?, updated_at = ?, version = version + 1 where no = ?`,
    )
  }

  append(sessionId: string, turn: readonly NewMessage[]): void {
    this.#begin.run()
    const [no, messages] = this.#head.get(sessionId) as [number, number]
    const now = Date.now()
    let position = messages
    for (const { role, content } of turn) {
      position += 1
      const first = typeof content === 'string' ? undefined : content[0]
      const tools =
        first?.type === 'tool-call'
          ? JSON.stringify([
              1,
              -1,
              first.toolCallId,
              first.toolName,
              [(first.input as { path: string }).path],
            ]).slice(1, -1)
          : first?.type === 'tool-result'
            ? JSON.stringify([1, 0, first.toolCallId, 825, 0, 0, first.toolName]).slice(1, -1)
            : null
      const { lastInsertRowid } = this.#message.run(
        no,
        position,
        position,
        ROLES.indexOf(role),
        2,
        null,
        100,
        0,
        0,
        0,
        0,
        tools,
        now,
        null,
      )
      this.#content.run(lastInsertRowid, JSON.stringify(content), null, null)
    }
    this.#counters.run(turn.length, turn.length, 200, 0, 0, 0, 0, now, no)
    this.#commit.run()
  }
}

/** The bare indexed select of a view: array rows, contents parsed. */
export class BareView {
  readonly #no: number
  readonly #select: Database.Statement

  constructor(database: Database.Database, sessionId: string) {
    const session = database.prepare('select no from undertext_sessions where id = ?').get(sessionId)
    this.#no = (session as { no: number }).no
    this.#select = database
      .prepare(
        `select m.key, m.role, m.position, m.created_at, c.content, c.metadata
         from undertext_messages m indexed by undertext_visible join undertext_contents c on c.key = m.key
         where m.session = ? and m.condense_parent is null and m.truncation_parent is null and m.retired_by is null
         order by m.anchor, m.ordinal`,
      )
      .raw()
  }

  read(): number {
    let characters = 0
    for (const row of this.#select.all(this.#no) as unknown[][]) {
      const content: unknown = JSON.parse(row[4] as string)
      characters += typeof content === 'string' ? content.length : 1
    }
    return characters
  }
}

/** One prepared read of one row: what stats cost at least. */
export class BareStats {
  readonly #select: Database.Statement

  constructor(database: Database.Database) {
    this.#select = database
      .prepare(
        `select messages, visible, size_text, size_reasoning, size_calls, size_results, size_media, provider, model, estimator
         from undertext_sessions where id = ?`,
      )
      .raw()
  }

  read(sessionId: string): unknown {
    return this.#select.get(sessionId)
  }
}

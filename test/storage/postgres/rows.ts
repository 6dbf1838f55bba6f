/* Rows of the tables that are guarded, and what may and may not become of them. */

export const TABLES = ['messages', 'contents', 'compactions', 'replacements', 'blobs', 'audit', 'notes']

/** A row in each table that is guarded: two messages, and the rest once. */
export const ROWS = [
  `insert into messages (family, key, session, anchor, position, role, size_text, size_reasoning, size_calls, size_results,
     size_media, created_at) values (7, 2, 1, 1, 1, 1, 0, 0, 0, 0, 0, 5), (7, 4, 1, 2, 2, 0, 0, 0, 0, 0, 0, 6)`,
  `insert into contents (family, key, content) values (7, 2, '"a"'), (7, 4, '"b"')`,
  `insert into compactions (family, no, id, session, run, kind, status, trigger, coverage, tokens_before, tokens_after, created_at,
     changed_at, rank) values (7, 1, 'c', 1, 'r', 'condense', 'active', 'manual', '{"p":[[1,1]]}', 5, 2, 7, 7, 1)`,
  `insert into replacements (family, compaction, message, part, text, saved_text, saved_results, saved_media)
     values (7, 1, 2, 0, '""', 0, 0, 0)`,
  "insert into blobs (family, hash, reference_count, bytes) values (7, '\\x01', 1, '\\x02')",
  "insert into audit (family, no, session, event, at) values (7, 1, 1, 'created', 5)",
  "insert into notes (family, id, session, owner, no, text, created_at) values (7, 'n', 1, '', 1, '\"a\"', 5)",
]

/** Each written-once column with another value. */
export const WRITTEN_ONCE: Record<string, Record<string, string>> = {
  messages: {
    family: '8',
    key: 'key + 100',
    session: '2',
    anchor: '9',
    ordinal: 'ordinal + 100',
    position: 'position + 100',
    kind: '1',
    role: '1',
    flags: '1',
    id: "'x'",
    created_at: '0',
    idempotency_key: "'x'",
    inserted_by: '1',
  },
  contents: { family: '8', key: 'key + 100', content: `'"x"'`, metadata: "'{}'", blobs: "'[]'" },
  compactions: {
    family: '8',
    no: '2',
    id: "'x'",
    session: '2',
    run: "'x'",
    kind: "'truncate'",
    coverage: "'{}'",
    requires: "'[]'",
    created_at: '0',
  },
  replacements: { family: '8', compaction: '2', message: '4', part: '1', text: `'"x"'` },
  blobs: { family: '8', hash: "'\\x03'", bytes: "'\\x03'" },
  audit: {
    family: '8',
    no: '2',
    session: '2',
    event: "'x'",
    compaction: '1',
    run: "'x'",
    at: '0',
    actor: "'x'",
    detail: "'x'",
    position: '1',
  },
  notes: {
    family: '8',
    id: "'x'",
    session: '2',
    owner: "'x'",
    no: '2',
    key: "'x'",
    text: `'"x"'`,
    metadata: "'{}'",
    source_session: "'x'",
    source: "'x'",
    actor: "'x'",
    created_at: '0',
  },
}

/** What the verbs change. */
export const PERMITTED = [
  'update messages set condense_parent = 1, truncation_parent = 2, retired_by = 3, pinned = 1',
  "update messages set shown = '[[0,1]]', size_text = 1, size_reasoning = 1, size_calls = 1, size_results = 1, size_media = 1, tools = '[]'",
  "update compactions set status = 'undone', params = '{}', rows_hidden = 1, parts_replaced = 1, rows_inserted = 1, changed_at = 8, rank = 2",
  "update compactions set summarizer = 's', model = 'm', prompt_version = 'p', usage = '{}', cost = 0.5, error = 'e', turned = '[]', undone_with_run = 1",
  'update compactions set tokens_before = 6, tokens_after = 3',
  'update replacements set saved_text = 1, saved_reasoning = 1, saved_results = 1, saved_media = 1',
  'update notes set replaced_by = 2, forgotten_at = 9',
  'update blobs set reference_count = reference_count + 1',
  'update blobs set reference_count = 0',
  'delete from blobs where reference_count <= 0',
]

import { sql } from 'drizzle-orm'
import {
  blob,
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core'

/*
 * The tables. References to sessions and compactions are integers (`no`), not the ids of the caller. Rows of messages are narrow and
 * without content, so that planning, tagging and counting never read it, and a tag never rewrites a long text. Figures for these
 * choices: docs/internals/decisions.md.
 */

/** Conversations, with counters and lease. The counters are updated in the transaction of every change. */
export const sessions = sqliteTable(
  'undertext_sessions',
  {
    no: integer().primaryKey(),
    id: text().notNull(),
    /** New at each creation and copy: a purged and recreated id is another session. Ids of messages begin with it. */
    incarnation: text().notNull(),
    owner: text(),
    title: text(),
    provider: text(),
    model: text(),
    config: text(),
    metadata: text(),
    estimator: text().notNull(),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
    archivedAt: integer('archived_at'),
    /** Messages in the log, which is also the last position. */
    messages: integer().notNull().default(0),
    /** Rows ever inserted by compactions, which is also the last ordinal. */
    inserted: integer().notNull().default(0),
    visible: integer().notNull().default(0),
    sizeText: integer('size_text').notNull().default(0),
    sizeReasoning: integer('size_reasoning').notNull().default(0),
    sizeCalls: integer('size_calls').notNull().default(0),
    sizeResults: integer('size_results').notNull().default(0),
    sizeMedia: integer('size_media').notNull().default(0),
    sizeImages: integer('size_images').notNull().default(0),
    /** Of images and files, in base64. */
    sizeBytes: integer('size_bytes').notNull().default(0),
    /** Images with a side above 2,000 pixels. */
    sizeLarge: integer('size_large').notNull().default(0),
    hiddenCondensed: integer('hidden_condensed').notNull().default(0),
    hiddenTruncated: integer('hidden_truncated').notNull().default(0),
    hiddenManual: integer('hidden_manual').notNull().default(0),
    retired: integer().notNull().default(0),
    activeCompactions: integer('active_compactions').notNull().default(0),
    /** Automatic compactions that a user undid since the last one. With any, usage over the threshold alone triggers none. */
    undoneAutomatic: integer('undone_automatic').notNull().default(0),
    /** Raised by every change. */
    version: integer().notNull().default(0),
    /** Raised only by changes of tags, replacements, pins, provider or model. */
    viewEpoch: integer('view_epoch').notNull().default(0),
    leaseRun: text('lease_run'),
    leaseHolder: text('lease_holder'),
    leaseExpires: integer('lease_expires'),
    /** The importer; null once it is published. Until then no list shows it. */
    stagedBy: text('staged_by'),
    /** The session that it is a fork of, and the last position that both have; null for any other. */
    forkedFrom: integer('forked_from'),
    forkedAt: integer('forked_at'),
  },
  (table) => [
    uniqueIndex('undertext_sessions_id').on(table.id),
    index('undertext_sessions_forks').on(table.forkedFrom).where(sql`forked_at is not null`),
    index('undertext_sessions_incarnation').on(table.incarnation),
    index('undertext_sessions_staged').on(table.stagedBy).where(sql`staged_by is not null`),
    index('undertext_sessions_owner').on(table.owner, table.no).where(sql`owner is not null`),
  ],
)

/** The rows of all sessions, with their tags: messages of the log, and rows that compactions inserted. */
export const messages = sqliteTable(
  'undertext_messages',
  {
    key: integer().primaryKey(),
    session: integer().notNull(),
    /** A message's position; an inserted row's last covered position. */
    anchor: integer().notNull(),
    /** 0 for messages; 1, 2, 3 … in order of insertion for inserted rows. */
    ordinal: integer().notNull().default(0),
    /** The place in the log; null for inserted rows. */
    position: integer(),
    /** Index into ROW_KINDS. */
    kind: integer().notNull().default(0),
    /** Index into ROLES. */
    role: integer().notNull(),
    /** Bits: see row-codec.ts. */
    flags: integer().notNull().default(0),
    /** The id of the caller. Others consist of incarnation and place, and are not stored. */
    id: text(),
    /** Sizes as shown, replacements applied. */
    sizeText: integer('size_text').notNull(),
    sizeReasoning: integer('size_reasoning').notNull(),
    sizeCalls: integer('size_calls').notNull(),
    sizeResults: integer('size_results').notNull(),
    sizeMedia: integer('size_media').notNull(),
    sizeImages: integer('size_images').notNull().default(0),
    /** Of images and files, in base64. */
    sizeBytes: integer('size_bytes').notNull().default(0),
    /** Images with a side above 2,000 pixels. */
    sizeLarge: integer('size_large').notNull().default(0),
    /** Calls and results, with the facts for planning, as JSON arrays. */
    tools: text(),
    createdAt: integer('created_at').notNull(),
    idempotencyKey: text('idempotency_key'),
    /** The compaction that inserted this row: condenseId of a summary, truncationId of a marker. */
    insertedBy: integer('inserted_by'),
    condenseParent: integer('condense_parent'),
    truncationParent: integer('truncation_parent'),
    retiredBy: integer('retired_by'),
    pinned: integer().notNull().default(0),
    /** The replacements shown now: JSON pairs [part, compaction]. */
    shown: text(),
    /** The key of its content, for a row that a fork copied; null for its own. Never the key of another copy. */
    source: integer(),
  },
  (table) => [
    uniqueIndex('undertext_log').on(table.session, table.position, table.ordinal),
    index('undertext_visible')
      .on(table.session, table.anchor, table.ordinal)
      .where(sql`condense_parent is null and truncation_parent is null and retired_by is null`),
    uniqueIndex('undertext_messages_id').on(table.session, table.id).where(sql`id is not null`),
    index('undertext_messages_idempotency')
      .on(table.session, table.idempotencyKey)
      .where(sql`idempotency_key is not null`),
    /** The row that a compaction inserted. */
    index('undertext_messages_inserted').on(table.insertedBy).where(sql`inserted_by is not null`),
    /** Copies of a row, for its purge. */
    index('undertext_messages_source').on(table.session, table.source).where(sql`source is not null`),
  ],
)

/** Contents, by the key of their row. Written once; a trigger refuses changes. */
export const contents = sqliteTable('undertext_contents', {
  key: integer().primaryKey(),
  /** A string or an array of parts, as JSON. */
  content: text().notNull(),
  metadata: text(),
  /** The places of blobs in the content: JSON [path, hash, encoding] …; null when there are none. */
  blobs: text(),
})

/** Compactions, in order of creation (`no`), with author, reason and status. */
export const compactions = sqliteTable(
  'undertext_compactions',
  {
    no: integer().primaryKey(),
    id: text().notNull(),
    session: integer().notNull(),
    run: text().notNull(),
    kind: text().notNull(),
    status: text().notNull(),
    trigger: text().notNull(),
    actor: text(),
    reason: text(),
    params: text(),
    /** The hidden and inserted rows, in a compact form; written once. */
    coverage: text().notNull(),
    /** Keys of the rows that it points to, JSON. */
    requires: text(),
    rowsHidden: integer('rows_hidden').notNull().default(0),
    partsReplaced: integer('parts_replaced').notNull().default(0),
    rowsInserted: integer('rows_inserted').notNull().default(0),
    tokensBefore: integer('tokens_before').notNull(),
    tokensAfter: integer('tokens_after').notNull(),
    summarizer: text(),
    model: text(),
    promptVersion: text('prompt_version'),
    usage: text(),
    cost: real(),
    error: text(),
    createdAt: integer('created_at').notNull(),
    changedAt: integer('changed_at').notNull(),
    /** The order in which compactions came into force: they build on others of lower rank. */
    rank: integer().notNull(),
    /** The undo of a whole run that undid it: the number of its entry in the audit. */
    undoneWithRun: integer('undone_with_run'),
    /** The compactions that a rewind undid and redid when it last came into force: numbers, JSON [undone, redone]. */
    turned: text(),
    /** The id of the compaction that a fork copied; null for others. */
    copiedFrom: text('copied_from'),
    /** Anchors of the first and the last hidden row; null for none. Coverage lists rows in order. */
    firstAnchor: integer('first_anchor').generatedAlwaysAs(
      sql`case when json_valid(coverage) then min(ifnull(coverage ->> '$.p[0][0]', coverage ->> '$.i[0][0]'), ifnull(coverage ->> '$.i[0][0]', coverage ->> '$.p[0][0]')) end`,
      { mode: 'virtual' },
    ),
    lastAnchor: integer('last_anchor').generatedAlwaysAs(
      sql`case when json_valid(coverage) then max(ifnull(coverage ->> '$.p[#-1][1]', coverage ->> '$.i[#-1][0]'), ifnull(coverage ->> '$.i[#-1][0]', coverage ->> '$.p[#-1][1]')) end`,
      { mode: 'virtual' },
    ),
  },
  (table) => [
    /** By status and by the span of the hidden rows: active ones, and those that may build on each other. */
    index('undertext_compactions_spans').on(
      table.session,
      table.status,
      table.firstAnchor,
      table.lastAnchor,
      table.rank,
    ),
    /** Active ones that replace parts. */
    index('undertext_compactions_replacing')
      .on(table.session)
      .where(sql`status = 'active' and parts_replaced > 0`),
    index('undertext_compactions_undone_with')
      .on(table.undoneWithRun)
      .where(sql`undone_with_run is not null`),
    // A copy that replaces another has the same ids until that one is removed.
    uniqueIndex('undertext_compactions_id').on(table.id, table.session),
    index('undertext_compactions_session').on(table.session, table.no),
    index('undertext_compactions_run').on(table.run),
    /** The cost of summaries in a window of time. */
    index('undertext_compactions_summaries').on(table.createdAt).where(sql`summarizer is not null`),
    /** Attempts that are running, or whose process died. */
    index('undertext_compactions_running').on(table.session).where(sql`status = 'running'`),
  ],
)

/** Texts shown in place of parts, empty for reasoning and providers' parts. Its rows are the coverage of replacing compactions. */
export const replacements = sqliteTable(
  'undertext_replacements',
  {
    compaction: integer().notNull(),
    message: integer().notNull(),
    part: integer().notNull(),
    /**
     * The text, as JSON (a plain text column cannot hold NUL and lone surrogates). A fork stores for a long one where it is: a list of
     * the compaction and the row.
     */
    text: text().notNull(),
    /** The saved sizes: those of the original minus its own. */
    savedText: integer('saved_text').notNull(),
    savedReasoning: integer('saved_reasoning').notNull().default(0),
    savedResults: integer('saved_results').notNull(),
    savedMedia: integer('saved_media').notNull(),
    savedImages: integer('saved_images').notNull().default(0),
    savedBytes: integer('saved_bytes').notNull().default(0),
    savedLarge: integer('saved_large').notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.compaction, table.message, table.part] }),
    index('undertext_replacements_message').on(table.message, table.part, table.compaction),
  ],
)

/** The audit, append-only: ids and numbers, never content. */
export const audit = sqliteTable(
  'undertext_audit',
  {
    no: integer().primaryKey(),
    session: integer().notNull(),
    event: text().notNull(),
    compaction: integer(),
    run: text(),
    at: integer().notNull(),
    actor: text(),
    detail: text(),
    /** The last position of the log at that time; null in an entry of no session. */
    position: integer(),
  },
  (table) => [
    index('undertext_audit_session').on(table.session, table.no),
    /** Compactions that were undone or redone since a message was appended. */
    index('undertext_audit_turned').on(table.session, table.position).where(sql`compaction is not null`),
    index('undertext_audit_run_undone').on(table.run).where(sql`event = 'run undone'`),
  ],
)

/** The last size that a provider reported for a session, by model; valid until the view changes. */
export const measurements = sqliteTable(
  'undertext_measurements',
  {
    session: integer().notNull(),
    provider: text().notNull(),
    /** Empty for a provider without a model. */
    model: text().notNull(),
    estimator: text().notNull(),
    viewEpoch: integer('view_epoch').notNull(),
    tokens: integer().notNull(),
    held: integer().notNull(),
    /** The estimate of the same request: history, what is in every request, prompt and files. */
    history: integer().notNull(),
    standing: integer().notNull(),
    pending: integer().notNull(),
    firstTokens: integer('first_tokens'),
    firstEstimate: integer('first_estimate').notNull(),
    at: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.session, table.provider, table.model] })],
)

/** Billed tokens by session and model: sums, and the cached tokens of the last request. */
export const usage = sqliteTable(
  'undertext_usage',
  {
    session: integer().notNull(),
    provider: text().notNull(),
    /** Empty for a provider without a model. */
    model: text().notNull(),
    requests: integer().notNull(),
    /** Tokens, sums over all requests; input excludes tokens read from or written to the cache. */
    inputTokens: integer('input_tokens').notNull(),
    cacheReadTokens: integer('cache_read_tokens').notNull(),
    cacheCreationTokens: integer('cache_creation_tokens').notNull(),
    outputTokens: integer('output_tokens').notNull(),
    /** Of the last request of the view at that time; null when its provider did not report it. */
    lastCacheReadTokens: integer('last_cache_read_tokens'),
    lastCacheCreationTokens: integer('last_cache_creation_tokens'),
    at: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.session, table.provider, table.model] })],
)

/** Background compactions, their holders and states. */
export const jobs = sqliteTable(
  'undertext_jobs',
  {
    no: integer().primaryKey(),
    id: text().notNull(),
    session: integer().notNull(),
    /** `queued`, `running`, `done`, `failed`, `stale`, `cancelled`. */
    state: text().notNull(),
    /** The request, as JSON: settings of the call that can be stored. */
    request: text(),
    /** The last position of the log, and the view's epoch, when it was queued. */
    position: integer().notNull(),
    viewEpoch: integer('view_epoch').notNull(),
    run: text(),
    attempts: integer().notNull().default(0),
    /** The earliest start, milliseconds since 1970. */
    notBefore: integer('not_before').notNull(),
    holder: text(),
    expires: integer(),
    /** A code or a short reason. */
    error: text(),
    createdAt: integer('created_at').notNull(),
    changedAt: integer('changed_at').notNull(),
  },
  (table) => [
    uniqueIndex('undertext_jobs_id').on(table.id),
    uniqueIndex('undertext_jobs_open').on(table.session).where(sql`state in ('queued', 'running')`),
    index('undertext_jobs_session').on(table.session, table.no),
  ],
)

/** Sessions whose automatic summaries failed in a row; a row is valid for its view and model. */
export const circuits = sqliteTable('undertext_circuits', {
  session: integer().primaryKey(),
  failures: integer().notNull(),
  viewEpoch: integer('view_epoch').notNull(),
  /** The summarizer and its model. */
  model: text().notNull(),
  /** The code of the last failure. */
  error: text().notNull(),
  /** The end of the open state, milliseconds since 1970; null while it is closed. */
  openUntil: integer('open_until'),
  changedAt: integer('changed_at').notNull(),
})

/** Rewinds with an id of the caller, so that a repeated one is recognized. */
export const operations = sqliteTable(
  'undertext_operations',
  {
    session: integer().notNull(),
    id: text().notNull(),
    /** A digest of the request. */
    digest: text().notNull(),
    /** Its compaction, if it hid anything. */
    compaction: integer(),
    /** Positions of the appended messages, as JSON. */
    positions: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.session, table.id] })],
)

/** Requests to models, with what they were made of: a moment of the view, and blobs for what the log does not hold. */
export const requests = sqliteTable(
  'undertext_requests',
  {
    session: integer().notNull(),
    /** 1, 2, 3 … within the session. */
    no: integer().notNull(),
    /** The moment of its view: the last position of the log, and the last entry of the audit, 0 for none. */
    position: integer().notNull(),
    audit: integer().notNull(),
    provider: text().notNull(),
    /** Empty for a provider without a model. */
    model: text().notNull(),
    /** How the view was rendered, besides the provider: JSON; null for the defaults. */
    rendering: text(),
    /** The version of the renderer. */
    renderer: integer().notNull(),
    /** Of what was sent (store/requests/recorded.ts). */
    hash: blob({ mode: 'buffer' }).notNull(),
    /** Hashes of blobs, one after the other, whose bytes together are a text; null for none. */
    system: blob({ mode: 'buffer' }),
    tools: blob({ mode: 'buffer' }),
    /** The messages that are not in the log. */
    prompt: blob({ mode: 'buffer' }),
    files: blob({ mode: 'buffer' }),
    /** Positions of the prompt, where it is in the log, and of the answer. */
    promptFirst: integer('prompt_first'),
    promptLast: integer('prompt_last'),
    answerFirst: integer('answer_first'),
    answerLast: integer('answer_last'),
    /** Tokens as they were billed; null when they are unknown. */
    inputTokens: integer('input_tokens'),
    cacheReadTokens: integer('cache_read_tokens'),
    cacheCreationTokens: integer('cache_creation_tokens'),
    outputTokens: integer('output_tokens'),
    at: integer().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.session, table.no] }),
    /** The request of an answer. */
    index('undertext_requests_answer')
      .on(table.session, table.answerLast)
      .where(sql`answer_last is not null`),
  ],
)

/** Notes of sessions and of owners: what is to be remembered apart from the log. Their texts are written once. */
export const notes = sqliteTable(
  'undertext_notes',
  {
    id: text().notNull(),
    /** 0 for a note of an owner. */
    session: integer().notNull(),
    /** Empty for a note of a session. */
    owner: text().notNull(),
    /** 1, 2, 3 … within the session or the owner. */
    no: integer().notNull(),
    key: text(),
    /** The text, as JSON (a plain text column cannot hold NUL and lone surrogates). */
    text: text().notNull(),
    metadata: text(),
    /** The message that it is from, and the session of that message: ids. */
    sourceSession: text('source_session'),
    source: text(),
    actor: text(),
    createdAt: integer('created_at').notNull(),
    /** The note of the same key that replaced it. */
    replacedBy: integer('replaced_by'),
    forgottenAt: integer('forgotten_at'),
  },
  (table) => [
    primaryKey({ columns: [table.session, table.owner, table.no] }),
    index('undertext_notes_id').on(table.id),
    index('undertext_notes_key').on(table.session, table.owner, table.key).where(sql`key is not null`),
    index('undertext_notes_current')
      .on(table.session, table.owner, table.no)
      .where(sql`replaced_by is null and forgotten_at is null`),
  ],
)

/** The ratio of a model's tokens to estimated ones: sums over all sessions; older reports count less. */
export const calibrations = sqliteTable(
  'undertext_calibrations',
  {
    provider: text().notNull(),
    model: text().notNull(),
    estimator: text().notNull(),
    grownSamples: integer('grown_samples').notNull(),
    grownMeasured: real('grown_measured').notNull(),
    grownEstimated: real('grown_estimated').notNull(),
    wholeSamples: integer('whole_samples').notNull(),
    wholeMeasured: real('whole_measured').notNull(),
    wholeEstimated: real('whole_estimated').notNull(),
    at: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.provider, table.model, table.estimator] })],
)

/** Limits in overflow errors, by model. */
export const limits = sqliteTable(
  'undertext_limits',
  {
    provider: text().notNull(),
    model: text().notNull(),
    /** `window`: input and output together. `input`: the input alone. */
    kind: text().notNull(),
    tokens: integer().notNull(),
    at: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.provider, table.model, table.kind] })],
)

/** Images, files, other large binary parts, and texts of requests, by content hash, stored once. */
export const blobs = sqliteTable('undertext_blobs', {
  hash: blob({ mode: 'buffer' }).primaryKey(),
  references: integer('reference_count').notNull(),
  bytes: blob({ mode: 'buffer' }).notNull(),
})

/**
 * How far each session is in the index of the search. The index itself is a table of FTS5 (migrations/sqlite): a row for each row with
 * text, whose rowid is its session and place.
 */
export const searched = sqliteTable('undertext_searched', {
  session: integer().primaryKey(),
  /** The last position, and the last ordinal, that is in the index. */
  positions: integer().notNull(),
  ordinals: integer().notNull(),
})

/** The schema version, the permit of a purge for its own transaction, and marks: of files to clear, of moved copies, of reported files. */
export const meta = sqliteTable('undertext_meta', {
  key: text().primaryKey(),
  value: text().notNull(),
})

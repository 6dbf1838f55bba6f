import { relations, sql } from 'drizzle-orm'
import {
  blob,
  customType,
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core'
import { ROLES, ROW_KINDS } from '../../core/messages/message.ts'

/*
 * The tables. References to sessions and compactions are integers (`no`), not the caller's ids. Rows of messages are narrow and have no
 * content, so that planning, tagging and counting never read it, and a tag never rewrites a long text. The figures behind these choices are
 * in docs/internals/decisions.md.
 */

/**
 * The filter for the drizzle config of an application that has its own tables in the same file. Without it, `drizzle-kit push` drops the
 * tables of undertext.
 */
export const KIT_FILTER = { tablesFilter: ['!undertext_*'] }

/** A word that is stored as its index in a list. */
const codeOf = <W extends string>(words: readonly W[]) =>
  customType<{ data: W; driverData: number }>({
    dataType: () => 'integer',
    fromDriver: (code) => words[code]!,
    toDriver: (word) => words.indexOf(word),
  })
const kindCode = codeOf(ROW_KINDS)
const roleCode = codeOf(ROLES)

/** Conversations, with counters and lease. The counters are updated in the transaction of every change. */
export const sessions = sqliteTable(
  'undertext_sessions',
  {
    no: integer().primaryKey(),
    id: text().notNull(),
    /** New for each creation and copy, so that a purged and recreated id is a different session. Ids of messages begin with it. */
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
    /** The time of the last message, at most the time at which it was stored; 0 without messages. Lists are sorted by it. */
    newestAt: integer('newest_at').notNull().default(0),
    /** The number of messages in the log, which is also the last position. */
    messages: integer().notNull().default(0),
    /** The number of rows ever inserted by compactions, which is also the last ordinal. */
    inserted: integer().notNull().default(0),
    visible: integer().notNull().default(0),
    sizeText: integer('size_text').notNull().default(0),
    sizeReasoning: integer('size_reasoning').notNull().default(0),
    sizeCalls: integer('size_calls').notNull().default(0),
    sizeResults: integer('size_results').notNull().default(0),
    sizeMedia: integer('size_media').notNull().default(0),
    sizeImages: integer('size_images').notNull().default(0),
    /** The size of images and files, in base64. */
    sizeBytes: integer('size_bytes').notNull().default(0),
    /** The number of images with a side above 2,000 pixels. */
    sizeLarge: integer('size_large').notNull().default(0),
    hiddenCondensed: integer('hidden_condensed').notNull().default(0),
    hiddenTruncated: integer('hidden_truncated').notNull().default(0),
    hiddenManual: integer('hidden_manual').notNull().default(0),
    retired: integer().notNull().default(0),
    activeCompactions: integer('active_compactions').notNull().default(0),
    /**
     * The number of automatic compactions that a user has undone since the last one. If it isn't 0, usage over the threshold alone triggers
     * no compaction.
     */
    undoneAutomatic: integer('undone_automatic').notNull().default(0),
    /** Raised by every change. */
    version: integer().notNull().default(0),
    /** Raised only by changes to tags, replacements, pins, provider or model. */
    viewEpoch: integer('view_epoch').notNull().default(0),
    leaseRun: text('lease_run'),
    leaseHolder: text('lease_holder'),
    leaseExpires: integer('lease_expires'),
    /** The importer; null once the session is published. Until then no list shows it. */
    stagedBy: text('staged_by'),
    /** The session that it was forked from, and the last position that both share; null if it isn't a fork. */
    forkedFrom: integer('forked_from'),
    forkedAt: integer('forked_at'),
  },
  (table) => [
    /** A session is named by its id and its owner. */
    uniqueIndex('undertext_sessions_id').on(table.id, table.owner),
    uniqueIndex('undertext_sessions_unowned').on(table.id).where(sql`owner is null`),
    index('undertext_sessions_forks').on(table.forkedFrom).where(sql`forked_at is not null`),
    index('undertext_sessions_incarnation').on(table.incarnation),
    index('undertext_sessions_staged').on(table.stagedBy).where(sql`staged_by is not null`),
    index('undertext_sessions_owner').on(table.owner, table.no).where(sql`owner is not null`),
    /** The lists of sessions: of all owners and of one, without and with the archive. */
    index('undertext_sessions_newest')
      .on(table.newestAt)
      .where(sql`archived_at is null and staged_by is null`),
    index('undertext_sessions_archived')
      .on(table.newestAt)
      .where(sql`archived_at is not null and staged_by is null`),
    index('undertext_sessions_owner_newest')
      .on(table.owner, table.newestAt)
      .where(sql`owner is not null and archived_at is null and staged_by is null`),
    index('undertext_sessions_owner_archived')
      .on(table.owner, table.newestAt)
      .where(sql`owner is not null and archived_at is not null and staged_by is null`),
  ],
)

/** The rows of all sessions, with their tags: messages of the log, and rows inserted by compactions. */
export const messages = sqliteTable(
  'undertext_messages',
  {
    key: integer().primaryKey(),
    session: integer().notNull(),
    /** The position of a message; for an inserted row, the last covered position. */
    anchor: integer().notNull(),
    /** 0 for messages; for inserted rows 1, 2, 3 … in order of insertion. */
    ordinal: integer().notNull().default(0),
    /** The position in the log; null for inserted rows. */
    position: integer(),
    /** In the database, the index into ROW_KINDS. */
    kind: kindCode()
      .notNull()
      // drizzle-kit writes the default as it is in the database.
      .default(0 as never),
    /** In the database, the index into ROLES. */
    role: roleCode().notNull(),
    /** Bits, see row-codec.ts. */
    flags: integer().notNull().default(0),
    /** The caller's id. Generated ids consist of incarnation and place, and aren't stored. */
    id: text(),
    /** Sizes as shown, after replacements. */
    sizeText: integer('size_text').notNull(),
    sizeReasoning: integer('size_reasoning').notNull(),
    sizeCalls: integer('size_calls').notNull(),
    sizeResults: integer('size_results').notNull(),
    sizeMedia: integer('size_media').notNull(),
    sizeImages: integer('size_images').notNull().default(0),
    /** The size of images and files, in base64. */
    sizeBytes: integer('size_bytes').notNull().default(0),
    /** The number of images with a side above 2,000 pixels. */
    sizeLarge: integer('size_large').notNull().default(0),
    /** Calls and results with the facts that planning needs, as JSON arrays. */
    tools: text(),
    createdAt: integer('created_at').notNull(),
    idempotencyKey: text('idempotency_key'),
    /** The compaction that inserted this row: condenseId of a summary, truncationId of a marker. */
    insertedBy: integer('inserted_by'),
    condenseParent: integer('condense_parent'),
    truncationParent: integer('truncation_parent'),
    retiredBy: integer('retired_by'),
    pinned: integer().notNull().default(0),
    /** The current replacements: JSON pairs [part, compaction]. */
    shown: text(),
    /** The key of its content if a fork copied the row; null if the row has its own content. Never the key of another copy. */
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
    /** Finds the row that a compaction inserted. */
    index('undertext_messages_inserted').on(table.insertedBy).where(sql`inserted_by is not null`),
    /** Finds the copies of a row, to purge it. */
    index('undertext_messages_source').on(table.session, table.source).where(sql`source is not null`),
  ],
)

/** Contents, by the key of their row. They are written once; a trigger rejects changes. */
export const contents = sqliteTable('undertext_contents', {
  key: integer().primaryKey(),
  /** A string or an array of parts, as JSON. */
  content: text().notNull(),
  metadata: text(),
  /** The places of blobs in the content: JSON [path, hash, encoding] …; null if there are none. */
  blobs: text(),
})

/** Compactions in the order of creation (`no`), with author, reason and status. */
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
    /** The keys of the rows that it points to, as JSON. */
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
    /** The order in which compactions came into force. A compaction builds only on those of lower rank. */
    rank: integer().notNull(),
    /** The undo of a whole run that undid it, as the number of its audit entry. */
    undoneWithRun: integer('undone_with_run'),
    /** The numbers of the compactions that a rewind undid and redid when it last came into force, as JSON [undone, redone]. */
    turned: text(),
    /** The id of the compaction that a fork copied; null if it isn't a copy. */
    copiedFrom: text('copied_from'),
    /** Anchors of the first and the last hidden row; null if no row is hidden. The coverage lists rows in order. */
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
    /** Compactions by status and span of the hidden rows: active ones, and those that may build on each other. */
    index('undertext_compactions_spans').on(
      table.session,
      table.status,
      table.firstAnchor,
      table.lastAnchor,
      table.rank,
    ),
    /** Active compactions that replace parts. */
    index('undertext_compactions_replacing')
      .on(table.session)
      .where(sql`status = 'active' and parts_replaced > 0`),
    index('undertext_compactions_undone_with')
      .on(table.undoneWithRun)
      .where(sql`undone_with_run is not null`),
    // A copy that replaces an older copy has the same ids until the older one is removed.
    uniqueIndex('undertext_compactions_id').on(table.id, table.session),
    index('undertext_compactions_session').on(table.session, table.no),
    index('undertext_compactions_run').on(table.run),
    /** The cost of summaries within a window of time. */
    index('undertext_compactions_summaries').on(table.createdAt).where(sql`summarizer is not null`),
    /** Running attempts, including those whose process died. */
    index('undertext_compactions_running').on(table.session).where(sql`status = 'running'`),
  ],
)

/**
 * Texts that the view shows in place of parts; empty for reasoning and for providers' parts. The rows of a compaction are its coverage if
 * it replaces parts.
 */
export const replacements = sqliteTable(
  'undertext_replacements',
  {
    compaction: integer().notNull(),
    message: integer().notNull(),
    part: integer().notNull(),
    /**
     * The text as JSON, because a plain text column can't hold NUL and lone surrogates. For a long text, a fork stores a reference: a list
     * of the compaction and the row.
     */
    text: text().notNull(),
    /** The saved sizes: the sizes of the original minus those of the text. */
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

/** The append-only audit: ids and numbers, never content. */
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
    /** The log's last position at that time; null for an entry that belongs to no session. */
    position: integer(),
  },
  (table) => [
    index('undertext_audit_session').on(table.session, table.no),
    /** Compactions that were undone or redone since a message was appended. */
    index('undertext_audit_turned').on(table.session, table.position).where(sql`compaction is not null`),
    index('undertext_audit_run_undone').on(table.run).where(sql`event = 'run undone'`),
  ],
)

/** The last size that a provider reported for a session, by model. It is valid until the view changes. */
export const measurements = sqliteTable(
  'undertext_measurements',
  {
    session: integer().notNull(),
    provider: text().notNull(),
    /** Empty if the provider has no model. */
    model: text().notNull(),
    estimator: text().notNull(),
    viewEpoch: integer('view_epoch').notNull(),
    tokens: integer().notNull(),
    held: integer().notNull(),
    /** The estimate of the same request: history, the part that every request contains, prompt and files. */
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
    /** Empty if the provider has no model. */
    model: text().notNull(),
    requests: integer().notNull(),
    /** Token sums over all requests. Input excludes tokens read from or written to the cache. */
    inputTokens: integer('input_tokens').notNull(),
    cacheReadTokens: integer('cache_read_tokens').notNull(),
    cacheCreationTokens: integer('cache_creation_tokens').notNull(),
    outputTokens: integer('output_tokens').notNull(),
    /** The cached tokens of the last request of the view at that time; null if the provider didn't report them. */
    lastCacheReadTokens: integer('last_cache_read_tokens'),
    lastCacheCreationTokens: integer('last_cache_creation_tokens'),
    at: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.session, table.provider, table.model] })],
)

/** Background compactions with their holders and states. */
export const jobs = sqliteTable(
  'undertext_jobs',
  {
    no: integer().primaryKey(),
    id: text().notNull(),
    session: integer().notNull(),
    /** `queued`, `running`, `done`, `failed`, `stale`, `cancelled`. */
    state: text().notNull(),
    /** The request as JSON: the settings of the call that can be stored. */
    request: text(),
    /** The log's last position and the view's epoch when the job was queued. */
    position: integer().notNull(),
    viewEpoch: integer('view_epoch').notNull(),
    run: text(),
    attempts: integer().notNull().default(0),
    /** The earliest start, in milliseconds since 1970. */
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

/** Sessions whose automatic summaries failed consecutively. A row is valid for its view and model. */
export const circuits = sqliteTable('undertext_circuits', {
  session: integer().primaryKey(),
  failures: integer().notNull(),
  viewEpoch: integer('view_epoch').notNull(),
  /** The summarizer and its model. */
  model: text().notNull(),
  /** The code of the last failure. */
  error: text().notNull(),
  /** The end of the open state, in milliseconds since 1970; null while the circuit is closed. */
  openUntil: integer('open_until'),
  changedAt: integer('changed_at').notNull(),
})

/** Rewinds with an operation id of the caller, so that a repeated rewind is recognized. */
export const operations = sqliteTable(
  'undertext_operations',
  {
    session: integer().notNull(),
    id: text().notNull(),
    /** A digest of the request. */
    digest: text().notNull(),
    /** The compaction of the rewind, if it hid anything. */
    compaction: integer(),
    /** The positions of the appended messages, as JSON. */
    positions: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.session, table.id] })],
)

/**
 * The turns of sessions: who holds a session, and the draft of its answer. A row without a holder is a draft that a turn left. Neither is
 * part of the log.
 */
export const turns = sqliteTable('undertext_turns', {
  session: integer().primaryKey(),
  id: text().notNull(),
  /** Empty after the end of the turn. */
  holder: text().notNull(),
  expires: integer().notNull(),
  /** The messages of the draft as JSON; null if there is none. */
  draft: text(),
  /** The turn that wrote the draft, the log's last position then, and the time. */
  draftTurn: text('draft_turn'),
  draftPosition: integer('draft_position'),
  draftAt: integer('draft_at'),
})

/** Tool calls that a turn began to run, so that no other turn runs them again. */
export const claims = sqliteTable(
  'undertext_claims',
  {
    session: integer().notNull(),
    /** The position of the call's message. */
    position: integer().notNull(),
    call: text().notNull(),
    turn: text().notNull(),
    at: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.session, table.position, table.call] })],
)

/** Requests to models and their ingredients: a moment of the view, and blobs for texts that aren't in the log. */
export const requests = sqliteTable(
  'undertext_requests',
  {
    session: integer().notNull(),
    /** 1, 2, 3 … within the session. */
    no: integer().notNull(),
    /** The moment of its view: the log's last position, and the last entry of the audit, 0 if there is none. */
    position: integer().notNull(),
    audit: integer().notNull(),
    provider: text().notNull(),
    /** Empty if the provider has no model. */
    model: text().notNull(),
    /** How the view was rendered, apart from the provider, as JSON; null for the defaults. */
    rendering: text(),
    /** The version of the renderer. */
    renderer: integer().notNull(),
    /** The hash of the request as sent (store/requests/recorded.ts). */
    hash: blob({ mode: 'buffer' }).notNull(),
    /** The concatenated hashes of blobs, whose concatenated bytes are a text; null if there is none. */
    system: blob({ mode: 'buffer' }),
    tools: blob({ mode: 'buffer' }),
    /** The messages that aren't in the log. */
    prompt: blob({ mode: 'buffer' }),
    files: blob({ mode: 'buffer' }),
    /** The positions of the prompt, if it is in the log, and of the answer. */
    promptFirst: integer('prompt_first'),
    promptLast: integer('prompt_last'),
    answerFirst: integer('answer_first'),
    answerLast: integer('answer_last'),
    /** The billed tokens; null if unknown. */
    inputTokens: integer('input_tokens'),
    cacheReadTokens: integer('cache_read_tokens'),
    cacheCreationTokens: integer('cache_creation_tokens'),
    outputTokens: integer('output_tokens'),
    at: integer().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.session, table.no] }),
    /** Finds the request of an answer. */
    index('undertext_requests_answer')
      .on(table.session, table.answerLast)
      .where(sql`answer_last is not null`),
  ],
)

/** Notes of sessions and owners, which are remembered apart from the log. Their texts are written once. */
export const notes = sqliteTable(
  'undertext_notes',
  {
    id: text().notNull(),
    /** 0 for an owner's note. */
    session: integer().notNull(),
    /** Empty for a session's note. */
    owner: text().notNull(),
    /** 1, 2, 3 … within the session or the owner. */
    no: integer().notNull(),
    key: text(),
    /** The text as JSON, because a plain text column can't hold NUL and lone surrogates. */
    text: text().notNull(),
    metadata: text(),
    /** The ids of the message that it was taken from, and of that message's session. */
    sourceSession: text('source_session'),
    source: text(),
    actor: text(),
    createdAt: integer('created_at').notNull(),
    /** The note with the same key that replaced it. */
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

/** The ratio of a model's tokens to the estimate, as sums over all sessions in which older reports weigh less. */
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

/** Limits reported in overflow errors, by model. */
export const limits = sqliteTable(
  'undertext_limits',
  {
    provider: text().notNull(),
    model: text().notNull(),
    /** `window`: input and output together. `input`: only the input. */
    kind: text().notNull(),
    tokens: integer().notNull(),
    at: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.provider, table.model, table.kind] })],
)

/** Images, files, other large binary parts and texts of requests, by content hash, each stored once. */
export const blobs = sqliteTable('undertext_blobs', {
  hash: blob({ mode: 'buffer' }).primaryKey(),
  references: integer('reference_count').notNull(),
  bytes: blob({ mode: 'buffer' }).notNull(),
})

/**
 * The progress of each session in the search index. The index itself is a table of FTS5 (migrations/sqlite), with one row for each row that
 * has text; its rowid is session and place.
 */
export const searched = sqliteTable('undertext_searched', {
  session: integer().primaryKey(),
  /** The last position and the last ordinal in the index. */
  positions: integer().notNull(),
  ordinals: integer().notNull(),
})

/** The schema version, the permit of a purge for its own transaction, and marks: files to clear, moved copies, reported files. */
export const meta = sqliteTable('undertext_meta', {
  key: text().primaryKey(),
  value: text().notNull(),
})

/*
 * Relations, for drizzle's relational queries. There are no foreign keys: the store keeps rows together itself, and an application may add
 * none. A relation can't have the name of a column, so the session of a row is `ofSession`, and the messages of a session are `rows`.
 */

export const sessionsRelations = relations(sessions, ({ one, many }) => ({
  rows: many(messages),
  compactions: many(compactions),
  audit: many(audit),
  requests: many(requests),
  notes: many(notes),
  jobs: many(jobs),
  usage: many(usage),
  origin: one(sessions, {
    fields: [sessions.forkedFrom],
    references: [sessions.no],
    relationName: 'fork',
  }),
  forks: many(sessions, { relationName: 'fork' }),
}))

export const messagesRelations = relations(messages, ({ one, many }) => ({
  ofSession: one(sessions, { fields: [messages.session], references: [sessions.no] }),
  /** The row's own content; null if it is a fork's copy, whose content is `sourceContent`. */
  content: one(contents, { fields: [messages.key], references: [contents.key] }),
  sourceContent: one(contents, { fields: [messages.source], references: [contents.key] }),
  replacements: many(replacements),
  insertion: one(compactions, {
    fields: [messages.insertedBy],
    references: [compactions.no],
    relationName: 'insertion',
  }),
  condensation: one(compactions, {
    fields: [messages.condenseParent],
    references: [compactions.no],
    relationName: 'condensation',
  }),
  truncation: one(compactions, {
    fields: [messages.truncationParent],
    references: [compactions.no],
    relationName: 'truncation',
  }),
}))

export const compactionsRelations = relations(compactions, ({ one, many }) => ({
  ofSession: one(sessions, { fields: [compactions.session], references: [sessions.no] }),
  replacements: many(replacements),
  inserted: many(messages, { relationName: 'insertion' }),
  condensed: many(messages, { relationName: 'condensation' }),
  truncated: many(messages, { relationName: 'truncation' }),
}))

export const replacementsRelations = relations(replacements, ({ one }) => ({
  ofCompaction: one(compactions, { fields: [replacements.compaction], references: [compactions.no] }),
  ofMessage: one(messages, { fields: [replacements.message], references: [messages.key] }),
}))

export const auditRelations = relations(audit, ({ one }) => ({
  ofSession: one(sessions, { fields: [audit.session], references: [sessions.no] }),
  ofCompaction: one(compactions, { fields: [audit.compaction], references: [compactions.no] }),
}))

export const requestsRelations = relations(requests, ({ one }) => ({
  ofSession: one(sessions, { fields: [requests.session], references: [sessions.no] }),
}))

export const notesRelations = relations(notes, ({ one }) => ({
  /** Null for an owner's note. */
  ofSession: one(sessions, { fields: [notes.session], references: [sessions.no] }),
}))

export const jobsRelations = relations(jobs, ({ one }) => ({
  ofSession: one(sessions, { fields: [jobs.session], references: [sessions.no] }),
}))

export const usageRelations = relations(usage, ({ one }) => ({
  ofSession: one(sessions, { fields: [usage.session], references: [sessions.no] }),
}))

import { relations, sql } from 'drizzle-orm'
import {
  bigint,
  customType,
  doublePrecision,
  index,
  integer,
  pgSchema,
  primaryKey,
  smallint,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core'
import { ROLES, ROW_KINDS } from '../../core/messages/message.ts'

/*
 * The tables in PostgreSQL. They are the tables of SQLite (sqlite/schema.ts explains the columns) without their prefix, in their own
 * schema, whose name an application may change.
 *
 * A family corresponds to a file of SQLite. It is the first column of every key, so that the tables can be distributed by it. The client
 * chooses the numbers within a family, so there are no sequences and no foreign keys. JSON is stored as text, because jsonb rejects some
 * strings and rewrites numbers. Primary keys have the server's default names.
 */

/** Not exported, so that drizzle-kit doesn't create it; `migrate` creates the schema if it doesn't exist. */
const undertext = pgSchema('undertext')

/**
 * The filter for the drizzle config of an application that shares the database. `drizzle-kit push` drops tables of the listed schemas, so
 * list all schemas of the application, and never that of undertext.
 */
export const KIT_FILTER = { schemaFilter: ['public'] }

/** A word that is stored as its index in a list. */
const codeOf = <W extends string>(words: readonly W[]) =>
  customType<{ data: W; driverData: number }>({
    dataType: () => 'smallint',
    fromDriver: (code) => words[code]!,
    toDriver: (word) => words.indexOf(word),
  })
const kindCode = codeOf(ROW_KINDS)
const roleCode = codeOf(ROLES)

/** A 64-bit integer; all stored integers are below 2^53. */
const long = (name = '') => bigint(name, { mode: 'number' })
const tsvector = customType<{ data: string }>({ dataType: () => 'tsvector' })
const bytea = customType<{ data: Uint8Array }>({ dataType: () => 'bytea' })
const family = () => long('family').notNull()

/**
 * The address of each session, by its id and its owner (empty for none, a hash for a long name). This is the only table that is keyed by
 * the caller's id.
 */
export const names = undertext.table(
  'names',
  {
    id: text().notNull(),
    owner: text().notNull().default(''),
    family: family(),
    session: long().notNull(),
  },
  (table) => [primaryKey({ name: 'names_pkey', columns: [table.id, table.owner] })],
)

/** Conversations, with counters and lease. The counters are updated in the transaction of every change. */
export const sessions = undertext.table(
  'sessions',
  {
    family: family(),
    no: long().notNull(),
    id: text().notNull(),
    incarnation: text().notNull(),
    owner: text(),
    title: text(),
    provider: text(),
    model: text(),
    config: text(),
    metadata: text(),
    estimator: text().notNull(),
    createdAt: long('created_at').notNull(),
    updatedAt: long('updated_at').notNull(),
    archivedAt: long('archived_at'),
    newestAt: long('newest_at').notNull().default(0),
    messages: long().notNull().default(0),
    inserted: long().notNull().default(0),
    visible: long().notNull().default(0),
    sizeText: long('size_text').notNull().default(0),
    sizeReasoning: long('size_reasoning').notNull().default(0),
    sizeCalls: long('size_calls').notNull().default(0),
    sizeResults: long('size_results').notNull().default(0),
    sizeMedia: long('size_media').notNull().default(0),
    sizeImages: long('size_images').notNull().default(0),
    /** The size of images and files, in base64. */
    sizeBytes: long('size_bytes').notNull().default(0),
    /** The number of images with a side above 2,000 pixels. */
    sizeLarge: long('size_large').notNull().default(0),
    hiddenCondensed: long('hidden_condensed').notNull().default(0),
    hiddenTruncated: long('hidden_truncated').notNull().default(0),
    hiddenManual: long('hidden_manual').notNull().default(0),
    retired: long().notNull().default(0),
    activeCompactions: long('active_compactions').notNull().default(0),
    undoneAutomatic: long('undone_automatic').notNull().default(0),
    version: long().notNull().default(0),
    viewEpoch: long('view_epoch').notNull().default(0),
    leaseRun: text('lease_run'),
    leaseHolder: text('lease_holder'),
    leaseExpires: long('lease_expires'),
    /** The last numbers of the session's compactions, audit entries and jobs. */
    compacted: long().notNull().default(0),
    audited: long().notNull().default(0),
    jobbed: long().notNull().default(0),
    /**
     * When the row was inserted, in microseconds since 1970. Lists are in this order; `created_at` of an imported session is the source's.
     */
    added: long().notNull().default(sql`(extract(epoch from clock_timestamp()) * 1000000)::bigint`),
    /** The token of the last write. It shows a writer that lost its connection whether its commit succeeded. */
    lastWrite: text('last_write'),
    stagedBy: text('staged_by'),
    forkedFrom: long('forked_from'),
    forkedAt: long('forked_at'),
    /** The highest number of a purged session of the family; numbers aren't reused. */
    purgedNo: long('purged_no').notNull().default(0),
  },
  (table) => [
    primaryKey({ name: 'sessions_pkey', columns: [table.family, table.no] }),
    // `names` keeps it unique for an owner.
    index('sessions_id').on(table.family, table.id),
    index('sessions_forks').on(table.family, table.forkedFrom).where(sql`forked_at is not null`),
    index('sessions_staged').on(table.family, table.stagedBy).where(sql`staged_by is not null`),
    // The next indexes serve queries over all families.
    index('sessions_incarnation').on(table.incarnation),
    index('sessions_added').on(table.added, table.family, table.no),
    index('sessions_owner')
      .on(table.owner, table.added, table.family, table.no)
      .where(sql`owner is not null`),
    index('sessions_newest')
      .on(table.newestAt, table.added, table.family, table.no)
      .where(sql`archived_at is null and staged_by is null`),
    index('sessions_archived')
      .on(table.newestAt, table.added, table.family, table.no)
      .where(sql`archived_at is not null and staged_by is null`),
    index('sessions_owner_newest')
      .on(table.owner, table.newestAt, table.added, table.family, table.no)
      .where(sql`owner is not null and archived_at is null and staged_by is null`),
    index('sessions_owner_archived')
      .on(table.owner, table.newestAt, table.added, table.family, table.no)
      .where(sql`owner is not null and archived_at is not null and staged_by is null`),
  ],
)

/** The rows of all sessions, with their tags: messages of the log, and rows inserted by compactions. */
export const messages = undertext.table(
  'messages',
  {
    family: family(),
    key: long().notNull(),
    session: long().notNull(),
    anchor: long().notNull(),
    ordinal: long().notNull().default(0),
    position: long(),
    kind: kindCode()
      .notNull()
      // drizzle-kit writes the default as it is in the database.
      .default(0 as never),
    role: roleCode().notNull(),
    flags: integer().notNull().default(0),
    id: text(),
    sizeText: long('size_text').notNull(),
    sizeReasoning: long('size_reasoning').notNull(),
    sizeCalls: long('size_calls').notNull(),
    sizeResults: long('size_results').notNull(),
    sizeMedia: long('size_media').notNull(),
    sizeImages: long('size_images').notNull().default(0),
    /** The size of images and files, in base64. */
    sizeBytes: long('size_bytes').notNull().default(0),
    /** The number of images with a side above 2,000 pixels. */
    sizeLarge: long('size_large').notNull().default(0),
    tools: text(),
    createdAt: long('created_at').notNull(),
    idempotencyKey: text('idempotency_key'),
    insertedBy: long('inserted_by'),
    condenseParent: long('condense_parent'),
    truncationParent: long('truncation_parent'),
    retiredBy: long('retired_by'),
    pinned: smallint().notNull().default(0),
    shown: text(),
    source: long(),
  },
  (table) => [
    primaryKey({ name: 'messages_pkey', columns: [table.family, table.key] }),
    uniqueIndex('log').on(table.family, table.session, table.position, table.ordinal),
    index('visible')
      .on(table.family, table.session, table.anchor, table.ordinal)
      .where(sql`condense_parent is null and truncation_parent is null and retired_by is null`),
    uniqueIndex('messages_id').on(table.family, table.session, table.id).where(sql`id is not null`),
    index('messages_idempotency')
      .on(table.family, table.session, table.idempotencyKey)
      .where(sql`idempotency_key is not null`),
    /** Finds the row that a compaction inserted. */
    index('messages_inserted').on(table.family, table.insertedBy).where(sql`inserted_by is not null`),
    index('messages_source').on(table.family, table.session, table.source).where(sql`source is not null`),
  ],
)

/** Contents, by the key of their row. They are written once; a trigger rejects changes. */
export const contents = undertext.table(
  'contents',
  {
    family: family(),
    key: long().notNull(),
    content: text().notNull(),
    metadata: text(),
    blobs: text(),
  },
  (table) => [primaryKey({ name: 'contents_pkey', columns: [table.family, table.key] })],
)

/** Compactions in the order of creation (`no`), with author, reason and status. */
export const compactions = undertext.table(
  'compactions',
  {
    family: family(),
    no: long().notNull(),
    id: text().notNull(),
    session: long().notNull(),
    run: text().notNull(),
    kind: text().notNull(),
    status: text().notNull(),
    trigger: text().notNull(),
    actor: text(),
    reason: text(),
    params: text(),
    coverage: text().notNull(),
    requires: text(),
    rowsHidden: long('rows_hidden').notNull().default(0),
    partsReplaced: long('parts_replaced').notNull().default(0),
    rowsInserted: long('rows_inserted').notNull().default(0),
    tokensBefore: long('tokens_before').notNull(),
    tokensAfter: long('tokens_after').notNull(),
    summarizer: text(),
    model: text(),
    promptVersion: text('prompt_version'),
    usage: text(),
    cost: doublePrecision(),
    error: text(),
    createdAt: long('created_at').notNull(),
    changedAt: long('changed_at').notNull(),
    rank: long().notNull(),
    undoneWithRun: long('undone_with_run'),
    turned: text(),
    copiedFrom: text('copied_from'),
    /** Anchors of the first and the last hidden row; null if no row is hidden. The functions are defined in the first migration. */
    firstAnchor: long('first_anchor').generatedAlwaysAs(sql`"undertext".first_anchor(coverage)`),
    lastAnchor: long('last_anchor').generatedAlwaysAs(sql`"undertext".last_anchor(coverage)`),
  },
  (table) => [
    primaryKey({ name: 'compactions_pkey', columns: [table.family, table.no] }),
    /** Compactions by status and span of the hidden rows: active ones, and those that may build on each other. */
    index('compactions_spans').on(
      table.family,
      table.session,
      table.status,
      table.firstAnchor,
      table.lastAnchor,
      table.rank,
    ),
    /** Active compactions that replace parts. */
    index('compactions_replacing')
      .on(table.family, table.session)
      .where(sql`status = 'active' and parts_replaced > 0`),
    index('compactions_undone_with')
      .on(table.family, table.undoneWithRun)
      .where(sql`undone_with_run is not null`),
    uniqueIndex('compactions_id').on(table.family, table.id, table.session),
    index('compactions_session').on(table.family, table.session, table.no),
    index('compactions_run').on(table.family, table.run),
    /** The cost of summaries of all families within a window of time. */
    index('compactions_summaries').on(table.createdAt).where(sql`summarizer is not null`),
    /** Running attempts, including those whose process died. */
    index('compactions_running').on(table.family, table.session).where(sql`status = 'running'`),
  ],
)

/**
 * Texts that the view shows in place of parts; empty for reasoning and for providers' parts. The rows of a compaction are its coverage if
 * it replaces parts.
 */
export const replacements = undertext.table(
  'replacements',
  {
    family: family(),
    compaction: long().notNull(),
    message: long().notNull(),
    part: integer().notNull(),
    text: text().notNull(),
    savedText: long('saved_text').notNull(),
    savedReasoning: long('saved_reasoning').notNull().default(0),
    savedResults: long('saved_results').notNull(),
    savedMedia: long('saved_media').notNull(),
    savedImages: long('saved_images').notNull().default(0),
    savedBytes: long('saved_bytes').notNull().default(0),
    savedLarge: long('saved_large').notNull().default(0),
  },
  (table) => [
    primaryKey({
      name: 'replacements_pkey',
      columns: [table.family, table.compaction, table.message, table.part],
    }),
    index('replacements_message').on(table.family, table.message, table.part, table.compaction),
  ],
)

/** The append-only audit: ids and numbers, never content. */
export const audit = undertext.table(
  'audit',
  {
    family: family(),
    no: long().notNull(),
    session: long().notNull(),
    event: text().notNull(),
    compaction: long(),
    run: text(),
    at: long().notNull(),
    actor: text(),
    detail: text(),
    position: long(),
  },
  (table) => [
    primaryKey({ name: 'audit_pkey', columns: [table.family, table.no] }),
    index('audit_session').on(table.family, table.session, table.no),
    /** Compactions that were undone or redone since a message was appended. */
    index('audit_turned').on(table.family, table.session, table.position).where(sql`compaction is not null`),
    index('audit_run_undone').on(table.family, table.run).where(sql`event = 'run undone'`),
  ],
)

/** The last size that a provider reported for a session, by model. It is valid until the view changes. */
export const measurements = undertext.table(
  'measurements',
  {
    family: family(),
    session: long().notNull(),
    provider: text().notNull(),
    model: text().notNull(),
    estimator: text().notNull(),
    viewEpoch: long('view_epoch').notNull(),
    tokens: long().notNull(),
    held: long().notNull(),
    history: long().notNull(),
    standing: long().notNull(),
    pending: long().notNull(),
    firstTokens: long('first_tokens'),
    firstEstimate: long('first_estimate').notNull(),
    at: long().notNull(),
  },
  (table) => [
    primaryKey({
      name: 'measurements_pkey',
      columns: [table.family, table.session, table.provider, table.model],
    }),
  ],
)

/** Billed tokens by session and model: sums, and the cached tokens of the last request. */
export const usage = undertext.table(
  'usage',
  {
    family: family(),
    session: long().notNull(),
    provider: text().notNull(),
    model: text().notNull(),
    requests: long().notNull(),
    inputTokens: long('input_tokens').notNull(),
    cacheReadTokens: long('cache_read_tokens').notNull(),
    cacheCreationTokens: long('cache_creation_tokens').notNull(),
    outputTokens: long('output_tokens').notNull(),
    lastCacheReadTokens: long('last_cache_read_tokens'),
    lastCacheCreationTokens: long('last_cache_creation_tokens'),
    at: long().notNull(),
  },
  (table) => [
    primaryKey({ name: 'usage_pkey', columns: [table.family, table.session, table.provider, table.model] }),
  ],
)

/** Background compactions with their holders and states. */
export const jobs = undertext.table(
  'jobs',
  {
    family: family(),
    no: long().notNull(),
    id: text().notNull(),
    session: long().notNull(),
    state: text().notNull(),
    request: text(),
    position: long().notNull(),
    viewEpoch: long('view_epoch').notNull(),
    run: text(),
    attempts: integer().notNull().default(0),
    notBefore: long('not_before').notNull(),
    holder: text(),
    expires: long(),
    error: text(),
    createdAt: long('created_at').notNull(),
    changedAt: long('changed_at').notNull(),
  },
  (table) => [
    primaryKey({ name: 'jobs_pkey', columns: [table.family, table.no] }),
    uniqueIndex('jobs_id').on(table.family, table.id),
    uniqueIndex('jobs_open').on(table.family, table.session).where(sql`state in ('queued', 'running')`),
    index('jobs_session').on(table.family, table.session, table.no),
  ],
)

/** Sessions whose automatic summaries failed consecutively. A row is valid for its view and model. */
export const circuits = undertext.table(
  'circuits',
  {
    family: family(),
    session: long().notNull(),
    failures: integer().notNull(),
    viewEpoch: long('view_epoch').notNull(),
    model: text().notNull(),
    error: text().notNull(),
    openUntil: long('open_until'),
    changedAt: long('changed_at').notNull(),
  },
  (table) => [primaryKey({ name: 'circuits_pkey', columns: [table.family, table.session] })],
)

/** Rewinds with an operation id of the caller, so that a repeated rewind is recognized. */
export const operations = undertext.table(
  'operations',
  {
    family: family(),
    session: long().notNull(),
    id: text().notNull(),
    digest: text().notNull(),
    compaction: long(),
    positions: text().notNull(),
  },
  (table) => [primaryKey({ name: 'operations_pkey', columns: [table.family, table.session, table.id] })],
)

export const turns = undertext.table(
  'turns',
  {
    family: family(),
    session: long().notNull(),
    id: text().notNull(),
    holder: text().notNull(),
    expires: long().notNull(),
    draft: text(),
    draftTurn: text('draft_turn'),
    draftPosition: long('draft_position'),
    draftAt: long('draft_at'),
  },
  (table) => [primaryKey({ name: 'turns_pkey', columns: [table.family, table.session] })],
)

export const claims = undertext.table(
  'claims',
  {
    family: family(),
    session: long().notNull(),
    position: long().notNull(),
    call: text().notNull(),
    turn: text().notNull(),
    at: long().notNull(),
  },
  (table) => [
    primaryKey({
      name: 'claims_pkey',
      columns: [table.family, table.session, table.position, table.call],
    }),
  ],
)

/** Requests to models and their ingredients: a moment of the view, and blobs for texts that aren't in the log. */
export const requests = undertext.table(
  'requests',
  {
    family: family(),
    session: long().notNull(),
    no: long().notNull(),
    position: long().notNull(),
    audit: long().notNull(),
    provider: text().notNull(),
    model: text().notNull(),
    rendering: text(),
    renderer: integer().notNull(),
    hash: bytea().notNull(),
    system: bytea(),
    tools: bytea(),
    prompt: bytea(),
    files: bytea(),
    promptFirst: long('prompt_first'),
    promptLast: long('prompt_last'),
    answerFirst: long('answer_first'),
    answerLast: long('answer_last'),
    inputTokens: long('input_tokens'),
    cacheReadTokens: long('cache_read_tokens'),
    cacheCreationTokens: long('cache_creation_tokens'),
    outputTokens: long('output_tokens'),
    at: long().notNull(),
  },
  (table) => [
    primaryKey({ name: 'requests_pkey', columns: [table.family, table.session, table.no] }),
    index('requests_answer')
      .on(table.family, table.session, table.answerLast)
      .where(sql`answer_last is not null`),
  ],
)

/** Notes of sessions and owners. The family of an owner's notes is negative, and computed from the owner's name. */
export const notes = undertext.table(
  'notes',
  {
    family: family(),
    id: text().notNull(),
    session: long().notNull(),
    owner: text().notNull(),
    no: long().notNull(),
    key: text(),
    text: text().notNull(),
    metadata: text(),
    sourceSession: text('source_session'),
    source: text(),
    actor: text(),
    createdAt: long('created_at').notNull(),
    replacedBy: long('replaced_by'),
    forgottenAt: long('forgotten_at'),
  },
  (table) => [
    primaryKey({ name: 'notes_pkey', columns: [table.family, table.session, table.owner, table.no] }),
    /** Across families, because callers refer to a note by its id alone. */
    index('notes_id').on(table.id),
    index('notes_key').on(table.family, table.session, table.owner, table.key).where(sql`key is not null`),
    index('notes_current')
      .on(table.family, table.session, table.owner, table.no)
      .where(sql`replaced_by is null and forgotten_at is null`),
  ],
)

/** The ratio of a model's tokens to the estimate, as sums over all sessions in which older reports weigh less. */
export const calibrations = undertext.table(
  'calibrations',
  {
    provider: text().notNull(),
    model: text().notNull(),
    estimator: text().notNull(),
    grownSamples: long('grown_samples').notNull(),
    grownMeasured: doublePrecision('grown_measured').notNull(),
    grownEstimated: doublePrecision('grown_estimated').notNull(),
    wholeSamples: long('whole_samples').notNull(),
    wholeMeasured: doublePrecision('whole_measured').notNull(),
    wholeEstimated: doublePrecision('whole_estimated').notNull(),
    at: long().notNull(),
  },
  (table) => [
    primaryKey({ name: 'calibrations_pkey', columns: [table.provider, table.model, table.estimator] }),
  ],
)

/** Limits reported in overflow errors, by model. */
export const limits = undertext.table(
  'limits',
  {
    provider: text().notNull(),
    model: text().notNull(),
    kind: text().notNull(),
    tokens: long().notNull(),
    at: long().notNull(),
  },
  (table) => [primaryKey({ name: 'limits_pkey', columns: [table.provider, table.model, table.kind] })],
)

/** Images, files, other large binary parts and texts of requests, by content hash, each stored once. */
export const blobs = undertext.table(
  'blobs',
  {
    family: family(),
    hash: bytea().notNull(),
    references: long('reference_count').notNull(),
    bytes: bytea().notNull(),
  },
  (table) => [primaryKey({ name: 'blobs_pkey', columns: [table.family, table.hash] })],
)

/** The progress of each session in the search index. */
export const searched = undertext.table(
  'searched',
  { family: family(), session: long().notNull(), positions: long().notNull(), ordinals: long().notNull() },
  (table) => [primaryKey({ name: 'searched_pkey', columns: [table.family, table.session] })],
)

/** The search index: the distinct words of each row. */
export const words = undertext.table(
  'words',
  {
    family: family(),
    session: long().notNull(),
    /** Twice the position of a message; for an inserted row, twice its ordinal plus one. */
    place: long().notNull(),
    /** The words of a long text are spread over several rows, because a tsvector holds less than 1 MB. */
    part: smallint().notNull(),
    words: tsvector().notNull(),
    /** When it was indexed, in microseconds since 1970. */
    added: long().notNull().default(sql`(extract(epoch from clock_timestamp()) * 1000000)::bigint`),
  },
  (table) => [
    primaryKey({ name: 'words_pkey', columns: [table.family, table.session, table.place, table.part] }),
    index('words_words').using('gin', table.words),
  ],
)

/** The schema version, and marks: of moved copies, of reported files. */
export const meta = undertext.table('meta', {
  key: text().primaryKey(),
  value: text().notNull(),
})

/* The relations of SQLite (sqlite/schema.ts); keys begin with the family. */

export const sessionsRelations = relations(sessions, ({ one, many }) => ({
  rows: many(messages),
  compactions: many(compactions),
  audit: many(audit),
  requests: many(requests),
  notes: many(notes),
  jobs: many(jobs),
  usage: many(usage),
  origin: one(sessions, {
    fields: [sessions.family, sessions.forkedFrom],
    references: [sessions.family, sessions.no],
    relationName: 'fork',
  }),
  forks: many(sessions, { relationName: 'fork' }),
}))

export const messagesRelations = relations(messages, ({ one, many }) => ({
  ofSession: one(sessions, {
    fields: [messages.family, messages.session],
    references: [sessions.family, sessions.no],
  }),
  /** The row's own content; null if it is a fork's copy, whose content is `sourceContent`. */
  content: one(contents, {
    fields: [messages.family, messages.key],
    references: [contents.family, contents.key],
  }),
  sourceContent: one(contents, {
    fields: [messages.family, messages.source],
    references: [contents.family, contents.key],
  }),
  replacements: many(replacements),
  insertion: one(compactions, {
    fields: [messages.family, messages.insertedBy],
    references: [compactions.family, compactions.no],
    relationName: 'insertion',
  }),
  condensation: one(compactions, {
    fields: [messages.family, messages.condenseParent],
    references: [compactions.family, compactions.no],
    relationName: 'condensation',
  }),
  truncation: one(compactions, {
    fields: [messages.family, messages.truncationParent],
    references: [compactions.family, compactions.no],
    relationName: 'truncation',
  }),
}))

export const compactionsRelations = relations(compactions, ({ one, many }) => ({
  ofSession: one(sessions, {
    fields: [compactions.family, compactions.session],
    references: [sessions.family, sessions.no],
  }),
  replacements: many(replacements),
  inserted: many(messages, { relationName: 'insertion' }),
  condensed: many(messages, { relationName: 'condensation' }),
  truncated: many(messages, { relationName: 'truncation' }),
}))

export const replacementsRelations = relations(replacements, ({ one }) => ({
  ofCompaction: one(compactions, {
    fields: [replacements.family, replacements.compaction],
    references: [compactions.family, compactions.no],
  }),
  ofMessage: one(messages, {
    fields: [replacements.family, replacements.message],
    references: [messages.family, messages.key],
  }),
}))

export const auditRelations = relations(audit, ({ one }) => ({
  ofSession: one(sessions, {
    fields: [audit.family, audit.session],
    references: [sessions.family, sessions.no],
  }),
  ofCompaction: one(compactions, {
    fields: [audit.family, audit.compaction],
    references: [compactions.family, compactions.no],
  }),
}))

export const requestsRelations = relations(requests, ({ one }) => ({
  ofSession: one(sessions, {
    fields: [requests.family, requests.session],
    references: [sessions.family, sessions.no],
  }),
}))

export const notesRelations = relations(notes, ({ one }) => ({
  /** Null for an owner's note. */
  ofSession: one(sessions, {
    fields: [notes.family, notes.session],
    references: [sessions.family, sessions.no],
  }),
}))

export const jobsRelations = relations(jobs, ({ one }) => ({
  ofSession: one(sessions, {
    fields: [jobs.family, jobs.session],
    references: [sessions.family, sessions.no],
  }),
}))

export const usageRelations = relations(usage, ({ one }) => ({
  ofSession: one(sessions, {
    fields: [usage.family, usage.session],
    references: [sessions.family, sessions.no],
  }),
}))

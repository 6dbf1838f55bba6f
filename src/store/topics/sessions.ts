import { v7 as uuidv7 } from 'uuid'
import { z } from 'zod'
import { invalid } from '../../core/errors.ts'
import { check, labelSchema, nameSchema, ownerOption, readable, taken } from '../../core/messages/check.ts'
import type { Finding } from '../../core/model/coverage.ts'
import type { HistoryRecord } from '../../storage/records/records.ts'
import type { AuditEntry, ListedSession, MessageCounts, Purged, Session } from '../../storage/storage.ts'
import { checkId } from '../arguments.ts'
import { type BringBackOptions, type BringBackResult, bringBack, bringBackSchema } from '../bring-back.ts'
import type { ResolvedConfig } from '../config/resolve.ts'
import {
  authorshipSchema,
  createSchema,
  type ForOwnerOptions,
  forOwnerSchema,
  momentSchema,
  type SessionChange,
  type SessionInput,
  updateSchema,
} from '../config/store-options.ts'
import { found, publicSession } from '../context.ts'
import type { ImportEvents, ImportOptions, SessionImport } from '../history/import/import-types.ts'
import type { HistoryRecords, RestoreOptions, SessionRestore } from '../history/restore-session.ts'
import type { Services } from '../services.ts'

/** Maximum length of a search: SQLite accepts no pattern of more than 50,000 bytes. */
const MAX_SEARCH_LENGTH = 10_000
const getSessionSchema = z.strictObject({
  ...forOwnerSchema.shape,
  /** Whether to also count the messages, the rows of the view that are sent, and the silent messages. */
  counts: z.boolean().default(false),
})
/** Options of `sessions.get`. */
export type GetSessionOptions = z.input<typeof getSessionSchema>
/** The owner of a listed session, which isn't an option. */
const listedOwner = nameSchema.optional()
const listSchema = z.strictObject({
  owner: ownerOption,
  archived: z.boolean().default(false),
  limit: z.int().positive().max(10_000).default(50),
  /** The last session of the previous page. If only its id is given, the list continues after its current place. */
  after: z
    .union(
      [nameSchema, z.object({ id: nameSchema, newestAt: z.int(), owner: listedOwner })],
      'must be a session of sessions.list, or its id',
    )
    .transform((given) => (typeof given === 'string' ? { id: given } : given))
    .optional(),
  /** Only sessions whose id or title contains this text, ignoring case. */
  search: z.string().min(1).max(MAX_SEARCH_LENGTH).optional(),
})
/** Options of `sessions.list`. */
export type ListSessionsOptions = z.input<typeof listSchema>
const forkSchema = z.strictObject({
  /** The moment at which the session is copied. Default: now. */
  at: momentSchema.optional(),
  /** The id of the fork. Default: a new UUID. */
  id: nameSchema.optional(),
  /** The title of the fork. Default: that of the original. */
  title: labelSchema.optional(),
  /** Who made the fork, for the audit of both sessions. */
  actor: nameSchema.optional(),
})
/** Options of `sessions.fork`. */
export type ForkOptions = z.input<typeof forkSchema>
const purgeSchema = z.strictObject({
  /**
   * Whether the files are cleared before the purge returns. With `false`, useful for purging many sessions, they are cleared by the next
   * purge with `true`, by `sessions.verify`, or when the store is closed.
   */
  clearFiles: z.boolean().default(true),
  /**
   * What happens to forks: with `keep` they stay, with everything they need; with `purge` they are purged too, including their own forks.
   */
  forks: z.enum(['keep', 'purge']).optional(),
  ...authorshipSchema.shape,
})
/** Options of `sessions.purge`. */
export type PurgeOptions = z.input<typeof purgeSchema>
const auditSchema = z.strictObject({
  after: z.int().nonnegative().default(0),
  limit: z.int().positive().max(100_000).default(1_000),
})
/** Options of `sessions.audit`. */
export type AuditLogOptions = z.input<typeof auditSchema>
const verifySchema = z.strictObject({ repair: z.boolean().default(false) })
/** Options of `sessions.verify`. */
export type VerifyOptions = z.input<typeof verifySchema>

/** Whole sessions: create, find, change, fork, copy and remove them. */
export class Sessions {
  readonly #services: Services

  /** @internal */
  constructor(services: Services) {
    this.#services = services
  }

  /**
   * Creates a session and returns it. Without an `id`, a UUID is generated. Settings in its `config` override those of the store
   * (docs/configuration.md); its tokens are counted by the estimator that they name. Throws `SESSION_EXISTS`.
   */
  async create(session: SessionInput = {}): Promise<Session> {
    const { id, ...fields } = check(createSchema, session, 'sessions.create')
    const { context } = this.#services
    this.#keepOwner(fields.owner)
    const estimator = context.estimatorFor(fields.config ?? undefined)
    return publicSession(await context.storage.createSession(id ?? uuidv7(), fields, estimator))
  }

  /**
   * Returns a session with its counters. With `owner`, only a session of this owner is returned, as by `store.forOwner(owner)`. With
   * `counts`, also counts the messages, the rows of the view that are sent, and the silent messages (those without a part that is sent,
   * such as an agent's bookkeeping). That reads every row, while the counters cost nothing.
   */
  async get(
    sessionId: string,
    options: GetSessionOptions & { readonly counts: true },
  ): Promise<Session & { readonly counts: MessageCounts }>
  async get(sessionId: string, options?: GetSessionOptions): Promise<Session>
  async get(
    sessionId: string,
    options: GetSessionOptions = {},
  ): Promise<Session & { readonly counts?: MessageCounts }> {
    const id = checkId(sessionId)
    const { owner, counts } = check(getSessionSchema, options, 'sessions.get')
    const storage = this.#services.context.storageOf(owner)
    const session = found(await storage.session(id), id)
    if (!counts) return publicSession(session)
    return { ...publicSession(session), counts: await storage.countMessages(id) }
  }

  /**
   * Lists sessions by the time of their newest message, newest first; those without messages come last. Archived sessions are listed
   * separately. `after` is the last session of the previous page, as it was listed: even if it receives a message in the meantime, the
   * following pages repeat nothing. If only its id is given, the list continues after its current place. Throws `SESSION_NOT_FOUND` if
   * `after` is unknown or belongs to an owner other than `owner`.
   */
  async list(options: ListSessionsOptions = {}): Promise<ListedSession[]> {
    const { owner, ...query } = check(listSchema, options, 'sessions.list')
    const listed = await this.#services.context.storageOf(owner).listSessions(query)
    return listed.map(publicSession)
  }

  /**
   * Changes fields of a session. Omitted fields keep their values; `null` clears a field. With the option `owner`, only a session of this
   * owner is changed, as by `store.forOwner(owner)`. The field `owner` gives the session to another owner; it can't be changed in the store
   * of an owner, and throws `SESSION_EXISTS` if the new owner has a session with this id.
   */
  async update(sessionId: string, changes: SessionChange, options: ForOwnerOptions = {}): Promise<Session> {
    const fields = check(updateSchema, changes, 'sessions.update')
    const { owner } = check(forOwnerSchema, options, 'sessions.update')
    const id = checkId(sessionId)
    this.#keepOwner(fields.owner)
    const storage = this.#services.context.storageOf(owner)
    return publicSession(await storage.updateSession(id, fields))
  }

  /**
   * Moves a session out of the ordinary list, or back into it. If the setting `autoCompactOnFinish` is on, the session is compacted first;
   * if that compaction throws, the session stays in the list. Nothing else changes.
   */
  async archive(sessionId: string, archived = true): Promise<Session> {
    const id = checkId(sessionId)
    check(z.boolean(), archived, 'archived')
    if (archived) await this.#compactAtEnd(await this.#services.context.requireSession(id))
    return publicSession(await this.#services.context.storage.archiveSession(id, archived))
  }

  /**
   * Copies a session as it is, or as it was at a moment, and returns the copy. Messages keep their positions, their content and the ids
   * that the caller gave them; the fork shares the contents, so it is small. Its compactions have new ids and can be undone in the fork
   * alone. Afterwards, changes to one session don't affect the other. Usage, measurements and jobs aren't copied. Throws
   * `SESSION_NOT_FOUND`, `SESSION_EXISTS`, and the errors of `messages.moment`.
   */
  async fork(sessionId: string, options: ForkOptions = {}): Promise<Session> {
    const { id, title, at, actor } = check(forkSchema, options, 'sessions.fork')
    const request = { id: id ?? uuidv7(), title, at, actor }
    return publicSession(await this.#services.context.storage.fork(checkId(sessionId), request))
  }

  /** Lists the direct forks of a session, oldest first, including archived ones. */
  async forks(sessionId: string): Promise<Session[]> {
    return (await this.#services.context.storage.forks(checkId(sessionId))).map(publicSession)
  }

  /**
   * Appends the conclusion of a fork to the session it was forked from: a message with the role `user` that names the branch, with the
   * metadata `broughtBack`. Without a text, the summarizer writes it from the messages after the fork point. It is recorded in the audit.
   * To hide it again, pass its id to `compactions.hide`, whose compaction can be undone. Throws `SESSION_NOT_FOUND`, `SUMMARIZER_FAILED`,
   * and `INVALID_INPUT` for a session that isn't a fork, or that, without a text, has no messages of its own.
   */
  async bringBack(forkId: string, options: Partial<BringBackOptions> = {}): Promise<BringBackResult> {
    return bringBack(
      this.#services.context,
      checkId(forkId),
      check(bringBackSchema, options, 'sessions.bringBack'),
    )
  }

  /**
   * Removes a session and everything it holds, and returns what was removed. No other method destroys a session; it leaves a receipt with
   * the session's id and numbers in the audit of the store. Afterwards nothing of the session can be read from the files, unless the result
   * has `filesCleared: false`: then the files are cleared as soon as no other connection prevents it. Clearing rewrites the file, so its
   * time grows with the size of the file (docs/storage.md). Throws `HAS_FORKS` for a session with forks, unless `forks` specifies what
   * happens to them (docs/forks.md).
   */
  async purge(sessionId: string, options: PurgeOptions = {}): Promise<Purged> {
    const { actor, reason, clearFiles, forks } = check(purgeSchema, options, 'sessions.purge')
    const id = checkId(sessionId)
    const { storage } = this.#services.context
    const removed = await storage.purgeSession(id, { actor, reason, clearFiles, forks })
    for (const purged of [id, ...(removed.forks ?? [])]) {
      this.#services.warnings.forget(purged)
      this.#services.background.forget(purged)
    }
    return removed
  }

  /**
   * Returns the settings in force for the store or for one session, and the layer that each comes from: `session`, `store` (`openStore`),
   * `environment`, `file`, `preset` or `default`. Settings without a value either scale with the window or don't apply.
   */
  async config(sessionId?: string): Promise<ResolvedConfig> {
    const { configuration } = this.#services.context
    if (sessionId === undefined) return copyOf(configuration.ofStore)
    const session = await this.#services.context.requireSession(checkId(sessionId))
    const { settings, sources } = copyOf(configuration.ofSession(session.config))
    const { provider, model } = configuration.modelOf(session)
    if (provider !== undefined) Object.assign(settings, { provider })
    if (model !== undefined) Object.assign(settings, { model })
    if (session.provider !== undefined) Object.assign(sources, { provider: 'session' })
    if (session.model !== undefined) Object.assign(sources, { model: 'session' })
    return { settings, sources }
  }

  /**
   * Checks the invariants of a session and returns the violations. With `repair: true`, tags, sizes and counters are rebuilt from coverage,
   * states and contents, which are never changed.
   */
  async verify(
    sessionId: string,
    options: VerifyOptions = {},
  ): Promise<{ findings: Finding[]; repaired: boolean }> {
    const { repair } = check(verifySchema, options, 'sessions.verify')
    return this.#services.context.storage.verify(checkId(sessionId), repair)
  }

  /** Recounts the tokens of a session with the store's estimator, or with another one that it knows. Throws `ESTIMATOR_UNKNOWN`. */
  async reestimate(
    sessionId: string,
    estimator: string = this.#services.context.estimators.standard.name,
  ): Promise<Session> {
    const id = checkId(sessionId)
    const name = check(z.string(), estimator, 'sessions.reestimate: estimator')
    const found = this.#services.context.estimatorNamed(name, id)
    return publicSession(await this.#services.context.storage.reestimate(id, found))
  }

  /** Returns the id of the turn that is under way in a session (`beginTurn`); `undefined` if there is none, or its process is dead. */
  async activeTurn(sessionId: string): Promise<string | undefined> {
    return (await this.#services.context.storage.turns.active(checkId(sessionId)))?.runId
  }

  /** Lists the audit of a session, oldest entry first: ids and numbers only. For the next page, pass the last `no` as `after`. */
  async audit(sessionId: string, options: AuditLogOptions = {}): Promise<AuditEntry[]> {
    return this.#services.context.storage.auditLog(
      checkId(sessionId),
      check(auditSchema, options, 'sessions.audit'),
    )
  }

  /**
   * Yields a whole session as records: everything stored in it, including tags, compactions and audit, and nothing that belongs to this
   * machine. `sessions.import` recreates the session from them. docs/history-format.md describes each record; `historyLines` of
   * `undertext/transfer` writes them as lines.
   *
   * The records describe one moment: changes that others make while they are read aren't included. They are read in pages of a few
   * megabytes, so a session of any size can be exported, and no transaction is open between two pages.
   *
   * Throws `SESSION_NOT_FOUND`, also if the session is purged in the meantime, and `STORE_CORRUPT` for rows that can't be read.
   */
  async *export(sessionId: string): AsyncGenerator<HistoryRecord, void, undefined> {
    const id = checkId(sessionId)
    const { exportSession } = await import('../history/export-session.ts')
    yield* exportSession(this.#services.context.storage, id)
  }

  /**
   * Imports a session, from the records of `export` or from another system's events; the content decides which.
   *
   * The records of `export` recreate the session: the same messages with the same ids, the same view, and every compaction ready to be
   * undone and redone. `id` and `owner` override those of the records. Every record is checked, so records may come from an untrusted
   * source. Ids of messages, compactions and runs are unique in a store: under another session id, or if they are already in use, they are
   * replaced with others, always the same ones for the same session; ids and keys that callers gave to messages stay. A summary attempt
   * that was running at the time of the export is marked as expired. If the same session already exists, nothing is written and the result
   * has `existing: true`.
   *
   * The events of another system's conversation create a session with its messages, its metadata, and the compactions that the system made,
   * which can be undone and redone like any other; `id` and `source` are required. `importFile` of `undertext/transfer` reads files into
   * such events. In a session that was imported before, messages are recognized by their `idempotencyKey`, even if they have been hidden
   * since: only new ones are appended, and repeating the import writes nothing. Compactions cover only what may be hidden; each has an
   * outcome, and one that can't be applied isn't an error.
   *
   * A new session is written in batches; it isn't listed until it is complete, and a failed import leaves nothing behind.
   *
   * Throws `INVALID_INPUT`, `SESSION_EXISTS` if the id belongs to another conversation or another owner, `ABORTED`, and any error that the
   * content throws; for records `HISTORY_REFUSED` with the number of the record and the rule, and `ESTIMATOR_UNKNOWN`; for events
   * `IMPORT_DIVERGED` if the session isn't the beginning of the import, `IDEMPOTENCY_CONFLICT`, `MESSAGE_ID_TAKEN`, `POSITION_CONFLICT` if
   * another writer appends at the same time, and any error that `beforePublish` throws.
   */
  async import(content: HistoryRecords, options?: RestoreOptions): Promise<SessionRestore>
  async import(
    content: ImportEvents,
    options: ImportOptions & { readonly id: string },
  ): Promise<SessionImport>
  async import(
    content: HistoryRecords | ImportEvents,
    options: RestoreOptions | (ImportOptions & { readonly id: string }) = {},
  ): Promise<SessionRestore | SessionImport> {
    // Copies: the caller may change its own objects while the module is loaded.
    const given = {
      content: readable('sessions.import: content', () =>
        Array.isArray(content) ? taken(content) : content,
      ),
      options: readable('sessions.import', () => taken(options)),
    }
    const { importContent } = await import('../history/import-content.ts')
    const { context } = this.#services
    return importContent(context, given.content, given.options)
  }

  /** Throws `INVALID_INPUT` for another owner in the store of an owner. */
  #keepOwner(given: string | null | undefined): void {
    const { owner } = this.#services.context
    if (owner !== undefined && given !== undefined && given !== owner)
      throw invalid('owner: this is the store of another owner')
  }

  async #compactAtEnd({ id, config }: Session): Promise<void> {
    if (!this.#services.context.configuration.ofSession(config).settings.autoCompactOnFinish) return
    await this.#services.compact(id, { trigger: 'auto', reason: 'the session was archived' })
  }
}

const copyOf = ({ settings, sources }: ResolvedConfig): ResolvedConfig => ({
  settings: { ...settings },
  sources: { ...sources },
})

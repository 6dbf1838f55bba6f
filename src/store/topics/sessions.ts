import { v7 as uuidv7 } from 'uuid'
import { z } from 'zod'
import { UndertextError } from '../../core/errors.ts'
import { check, labelSchema, nameSchema, ownerOption, readable, taken } from '../../core/messages/check.ts'
import type { Finding } from '../../core/model/coverage.ts'
import { isOpenTo } from '../../storage/owners.ts'
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
import { publicSession } from '../context.ts'
import type { ImportEvents, ImportOptions, SessionImport } from '../history/import/import-types.ts'
import type { HistoryRecords, RestoreOptions, SessionRestore } from '../history/restore-session.ts'
import type { Services } from '../services.ts'

/** Maximum length of a search: SQLite accepts no pattern of more than 50,000 bytes. */
const MAX_SEARCH_LENGTH = 10_000
const getSessionSchema = z.strictObject({
  ...forOwnerSchema.shape,
  /** Whether the messages, the rows of the view that are sent, and the silent messages are counted too. */
  counts: z.boolean().default(false),
})
/** Options of `sessions.get`. */
export type GetSessionOptions = z.input<typeof getSessionSchema>
const listSchema = z.strictObject({
  owner: ownerOption,
  archived: z.boolean().default(false),
  limit: z.int().positive().max(10_000).default(50),
  /** The last session of the page before. With its id alone, the list continues after the place that it has now. */
  after: z
    .union(
      [nameSchema, z.object({ id: nameSchema, newestAt: z.int() })],
      'must be a session of listSessions, or its id',
    )
    .transform((given) => (typeof given === 'string' ? { id: given } : given))
    .optional(),
  /** Only sessions whose id or title contains this text, ignoring case. */
  search: z.string().min(1).max(MAX_SEARCH_LENGTH).optional(),
})
/** Options of `sessions.list`. */
export type ListSessionsOptions = z.input<typeof listSchema>
const forkSchema = z.strictObject({
  /** The moment that it is the session at; default now. */
  at: momentSchema.optional(),
  /** The id of the fork; default a uuid. */
  id: nameSchema.optional(),
  /** Its title; default that of the original. */
  title: labelSchema.optional(),
  /** Who made it, for the audit of both sessions. */
  actor: nameSchema.optional(),
})
/** Options of `sessions.fork`. */
export type ForkOptions = z.input<typeof forkSchema>
const purgeSchema = z.strictObject({
  /**
   * Whether the files are cleared before the purge returns. With `false`, for purging many sessions, the next purge without it,
   * `sessions.verify` or closing the store clears them.
   */
  clearFiles: z.boolean().default(true),
  /** What happens to forks: they stay, with all that they need, or they are purged too, with their own forks. */
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
   * Creates a session and returns it. Without an `id` it gets a uuid. Settings in its `config` override those of the store
   * (docs/configuration.md); its tokens are counted by the estimator they name. Throws `SESSION_EXISTS`.
   */
  async create(session: SessionInput = {}): Promise<Session> {
    const { id, ...fields } = check(createSchema, session, 'sessions.create')
    const estimator = this.#services.context.estimatorFor(fields.config ?? undefined)
    return publicSession(
      await this.#services.context.storage.createSession(id ?? uuidv7(), fields, estimator),
    )
  }

  /**
   * Returns a session with its counters. With `owner`, a session of another owner is unknown; one without an owner is not. With `counts`, it
   * also counts the messages, the rows of the view that are sent, and the silent messages (those without a part that is sent, as an agent's
   * bookkeeping): this reads every row, while the counters cost nothing.
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
    const { context } = this.#services
    const session = await context.requireSession(id)
    if (!isOpenTo(session, owner)) throw new UndertextError('SESSION_NOT_FOUND', { sessionId: id })
    if (!counts) return publicSession(session)
    return { ...publicSession(session), counts: await context.storage.countMessages(id) }
  }

  /**
   * Lists sessions by the time of their newest message, newest first; those without messages are last. Archived sessions are listed
   * separately. `after` is the last session of the page before, as it was listed: when it receives a message meanwhile, the following
   * pages repeat nothing. With its id alone they continue after the place that it has now. Throws `SESSION_NOT_FOUND` for an unknown
   * `after`, and for one of another owner than `owner`.
   */
  async list(options: ListSessionsOptions = {}): Promise<ListedSession[]> {
    const { owner, archived, limit, after, search } = check(listSchema, options, 'sessions.list')
    const sessions = await this.#services.context.storage.listSessions({
      owner,
      archived,
      limit,
      after,
      search,
    })
    return sessions.map(publicSession)
  }

  /**
   * Changes fields of a session. Omitted fields keep their values; `null` clears a field. With the option `owner`, a session of another
   * owner is unknown; one without an owner is not, so `sessions.update(id, { owner }, { owner })` gives a session to the first who asks.
   */
  async update(sessionId: string, changes: SessionChange, options: ForOwnerOptions = {}): Promise<Session> {
    const fields = check(updateSchema, changes, 'sessions.update')
    const { owner } = check(forOwnerSchema, options, 'sessions.update')
    return publicSession(
      await this.#services.context.storage.updateSession(checkId(sessionId), fields, owner),
    )
  }

  /**
   * Moves a session out of the ordinary list, or back into it. When the setting `autoCompactOnFinish` is on, the session is compacted
   * first; if that compaction throws, the session stays in the list. Nothing else changes.
   */
  async archive(sessionId: string, archived = true): Promise<Session> {
    const id = checkId(sessionId)
    check(z.boolean(), archived, 'archived')
    if (archived) await this.#compactAtEnd(await this.#services.context.requireSession(id))
    return publicSession(await this.#services.context.storage.archiveSession(id, archived))
  }

  /**
   * Copies a session as it is, or as it was at a moment, and returns the copy. Messages keep their positions, content and the caller's
   * ids; the fork shares the contents, so it is small. Its compactions have new ids and can be undone in the fork alone. Afterwards
   * neither session sees changes of the other. Usage, measurements and jobs are not copied. Throws `SESSION_NOT_FOUND`,
   * `SESSION_EXISTS`, and what `messages.moment` throws.
   */
  async fork(sessionId: string, options: ForkOptions = {}): Promise<Session> {
    const { id, title, at, actor } = check(forkSchema, options, 'sessions.fork')
    const request = { id: id ?? uuidv7(), title, at, actor }
    return publicSession(await this.#services.context.storage.fork(checkId(sessionId), request))
  }

  /** Lists the direct forks of a session, oldest first, archived ones included. */
  async forks(sessionId: string): Promise<Session[]> {
    return (await this.#services.context.storage.forks(checkId(sessionId))).map(publicSession)
  }

  /**
   * Appends the conclusion of a fork to the session that it is a fork of: a message of the role `user` that names the branch, with the
   * metadata `broughtBack`. Without a text the summarizer writes it from the messages after the fork point. It is recorded in the audit;
   * `compactions.hide` with its id hides it again, by a compaction that can be undone. Throws `SESSION_NOT_FOUND`,
   * `SUMMARIZER_FAILED`, and `INVALID_INPUT` for a session that is no fork, or, without a text, has no messages of its own.
   */
  async bringBack(forkId: string, options: Partial<BringBackOptions> = {}): Promise<BringBackResult> {
    return bringBack(
      this.#services.context,
      checkId(forkId),
      check(bringBackSchema, options, 'sessions.bringBack'),
    )
  }

  /**
   * Removes a session and everything it holds. This is the only method that destroys; it leaves a receipt with the session's id and
   * numbers in the audit of the store. Returns what was removed. Afterwards nothing of the session can be read from the files, unless
   * the result has `filesCleared: false`: then the files are cleared as soon as no other connection prevents it. Clearing rewrites
   * the file, so its time grows with the size of the file (docs/storage.md). Throws `HAS_FORKS` for a session with forks, unless `forks`
   * says what happens to them (docs/forks.md).
   */
  async purge(sessionId: string, options: PurgeOptions = {}): Promise<Purged> {
    const { actor, reason, clearFiles, forks } = check(purgeSchema, options, 'sessions.purge')
    const id = checkId(sessionId)
    const removed = await this.#services.context.storage.purgeSession(id, {
      actor,
      reason,
      clearFiles,
      forks,
    })
    for (const purged of [id, ...(removed.forks ?? [])]) {
      this.#services.warnings.forget(purged)
      this.#services.background.forget(purged)
    }
    return removed
  }

  /**
   * Returns the settings in force for the store, or for one session, and the layer that each comes from: `session`, `store`
   * (`openStore`), `environment`, `file`, `preset` or `default`. Settings without a value either scale with the window or don't apply.
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
   * Checks the invariants of a session and returns the violations. With `repair: true`, tags, sizes and counters are rebuilt from
   * coverage, states and contents, which are never changed.
   */
  async verify(
    sessionId: string,
    options: VerifyOptions = {},
  ): Promise<{ findings: Finding[]; repaired: boolean }> {
    const { repair } = check(verifySchema, options, 'sessions.verify')
    return this.#services.context.storage.verify(checkId(sessionId), repair)
  }

  /** Counts the tokens of a session again, with the store's estimator or another one it knows. Throws `ESTIMATOR_UNKNOWN`. */
  async reestimate(
    sessionId: string,
    estimator: string = this.#services.context.estimators.standard.name,
  ): Promise<Session> {
    const id = checkId(sessionId)
    const name = check(z.string(), estimator, 'sessions.reestimate: estimator')
    const found = this.#services.context.estimatorNamed(name, id)
    return publicSession(await this.#services.context.storage.reestimate(id, found))
  }

  /** Lists what happened to a session, oldest first: ids and numbers. For the next page pass the last `no` as `after`. */
  async audit(sessionId: string, options: AuditLogOptions = {}): Promise<AuditEntry[]> {
    return this.#services.context.storage.auditLog(
      checkId(sessionId),
      check(auditSchema, options, 'sessions.audit'),
    )
  }

  /**
   * Yields a whole session as records: everything stored of it, tags, compactions and audit included, and nothing that belongs to this
   * machine. `sessions.import` makes the same session of them. docs/history-format.md describes each record; `historyLines` of
   * `undertext/transfer` writes them as lines.
   *
   * The records are of one moment: what others append, compact or undo while they are read is not included. They come in pages of some
   * megabytes, so that a session of any size can be exported, and no transaction is open between two pages.
   *
   * Throws `SESSION_NOT_FOUND`, also when the session is purged meanwhile, and `STORE_CORRUPT` for what cannot be read.
   */
  async *export(sessionId: string): AsyncGenerator<HistoryRecord, void, undefined> {
    const id = checkId(sessionId)
    const { exportSession } = await import('../history/export-session.ts')
    yield* exportSession(this.#services.context.storage, id)
  }

  /**
   * Imports a session, and decides by the content how.
   *
   * The records of `export` make the same session: the same messages with the same ids, the same view, and every compaction ready to be
   * undone and redone. `id` and `owner` override those of the records. Every record is checked, so they may come from an untrusted source.
   * Ids of messages, compactions and runs are unique in a store: under another session id, and when they are in use, they are replaced with
   * others, always the same ones for the same session; ids and keys that callers gave to messages stay. A summary attempt that was running
   * at the export is expired. When the same session exists already, nothing is written and the result has `existing: true`.
   *
   * The events of another system's conversation make a session with its messages, its metadata, and the compactions that the system made,
   * which can be undone and redone like any other; `id` and `source` are required. `importFile` of `undertext/transfer` reads files into
   * such events. In a session that was imported before, messages are recognized by their `idempotencyKey`, also when they were hidden
   * since: only new ones are appended, and repeating the import writes nothing. Compactions cover what may be hidden; each has an outcome,
   * and one that cannot be applied is not an error.
   *
   * A new session is written in batches; it appears in no list until it is complete, and a failed import leaves nothing.
   *
   * Throws `INVALID_INPUT`, `SESSION_EXISTS` when the id belongs to another conversation or another owner, `ABORTED`, and what the content
   * throws; for records `HISTORY_REFUSED` with the number of the record and the rule, and `ESTIMATOR_UNKNOWN`; for events `IMPORT_DIVERGED`
   * when the session is not the beginning of the import, `IDEMPOTENCY_CONFLICT`, `MESSAGE_ID_TAKEN`, `POSITION_CONFLICT` when another
   * writer appends at the same time, and what `beforePublish` throws.
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
    // Copies: the caller may change its own objects while the code is loaded.
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

  async #compactAtEnd({ id, config }: Session): Promise<void> {
    if (!this.#services.context.configuration.ofSession(config).settings.autoCompactOnFinish) return
    await this.#services.compact(id, { trigger: 'auto', reason: 'the session was archived' })
  }
}

const copyOf = ({ settings, sources }: ResolvedConfig): ResolvedConfig => ({
  settings: { ...settings },
  sources: { ...sources },
})

import { v7 as uuidv7 } from 'uuid'
import { z } from 'zod'
import type { ResolvedConfig } from '../config/resolve.ts'
import {
  createSchema,
  type ListSessionsOptions,
  listSchema,
  newestSchema,
  type PurgeOptions,
  purgeSchema,
  type SessionChange,
  type SessionInput,
  updateSchema,
  type VerifyOptions,
  verifySchema,
} from '../config/store-options.ts'
import { invalid, UndertextError } from '../errors.ts'
import { headOf } from '../messages/characters.ts'
import { check } from '../messages/check.ts'
import type { Finding } from '../model/verify.ts'
import type { MessageCounts, Purged, Session, Storage } from '../storage/storage.ts'
import { checkId } from './check-arguments.ts'
import { RequestVerbs } from './request-verbs.ts'

/** Sessions themselves: made, found, changed, checked and removed. */
export class SessionVerbs<S extends Storage> extends RequestVerbs<S> {
  /**
   * Makes a session and answers it. Without an `id` it gets a uuid. Settings in its `config` count before the store's
   * (docs/configuration.md); it is counted by the estimator they name. Throws `SESSION_EXISTS`.
   */
  async createSession(session: SessionInput = {}): Promise<Session> {
    const { id, ...fields } = check(createSchema, session, 'createSession')
    const estimator = this.#estimatorFor(fields.config ?? undefined)
    return publicSession(await this.storage.createSession(id ?? uuidv7(), fields, estimator))
  }

  #estimatorFor(config: Session['config']): string {
    const { standard, byName } = this.estimators
    // A copy: settings are remembered by the object, and this one is the caller's.
    const { settings, sources } = this.configuration.ofSession(config && { ...config })
    const isTheStores = settings.estimator === this.configuration.ofStore.settings.estimator
    if (isTheStores || sources.estimator === 'default') return standard.name
    if (!byName.has(settings.estimator))
      throw invalid('createSession: config: estimator is none that this store was given')
    return settings.estimator
  }

  /** A session with its counters. */
  async getSession(sessionId: string): Promise<Session> {
    return publicSession(await this.requireSession(checkId(sessionId)))
  }

  /**
   * How many messages a session has, how many rows of the view say something, and how many rows of the log keep an agent's bookkeeping
   * and are sent nowhere. Reads every row, which `getSession` does not: its `messageCount` is the length of the log. Throws
   * `SESSION_NOT_FOUND`.
   */
  async countMessages(sessionId: string): Promise<MessageCounts> {
    return this.storage.countMessages(checkId(sessionId))
  }

  /** Sessions, newest first, archived ones apart; `after` is the id of the last session of the page before. */
  async listSessions(options: ListSessionsOptions = {}): Promise<Session[]> {
    const { owner, archived, limit, after, search } = check(listSchema, options, 'listSessions')
    return (await this.storage.listSessions({ owner, archived, limit, after, search })).map(publicSession)
  }

  /** Changes fields of a session: what is left out stays, `null` clears. */
  async updateSession(sessionId: string, changes: SessionChange): Promise<Session> {
    const fields = check(updateSchema, changes, 'updateSession')
    return publicSession(await this.storage.updateSession(checkId(sessionId), fields))
  }

  /**
   * The id of the session whose conversation is newest: the one with the newest message, whenever it was written to the store. `undefined`
   * where there is none.
   */
  async newestSession(options: { readonly archived?: boolean } = {}): Promise<string | undefined> {
    const { archived } = check(newestSchema, options, 'newestSession')
    return this.storage.newestSession(archived)
  }

  /**
   * Takes a session out of the ordinary list, or back into it. It stays as it is otherwise; where the setting
   * `autoCompactOnFinish` is on, it is compacted first, and what `compactSession` throws keeps it in the list.
   */
  async archiveSession(sessionId: string, archived = true): Promise<Session> {
    const id = checkId(sessionId)
    check(z.boolean(), archived, 'archived')
    if (archived) await this.#compactAtEnd(await this.requireSession(id))
    return publicSession(await this.storage.archiveSession(id, archived))
  }

  async #compactAtEnd({ id, config }: Session): Promise<void> {
    if (!this.configuration.ofSession(config).settings.autoCompactOnFinish) return
    await this.compactSession(id, { trigger: 'auto', reason: 'the session was archived' })
  }

  /**
   * Removes a session and all it holds for good. The one verb that destroys; it leaves a receipt of the session's id and
   * numbers in the audit of the store. Returns what was removed. Nothing of the session is readable in the files afterwards,
   * unless `filesCleared: false` says so: then that is done as soon as no other connection prevents it. Clearing rewrites the
   * file, so its time grows with the file (docs/store-files.md).
   */
  async purgeSession(sessionId: string, options: PurgeOptions = {}): Promise<Purged> {
    const { actor, reason, clearFiles } = check(purgeSchema, options, 'purgeSession')
    const id = checkId(sessionId)
    const removed = await this.storage.purgeSession(id, { actor, reason, clearFiles })
    this.turns.forget(id)
    this.forgetBackground(id)
    return removed
  }

  /**
   * The settings in force for the store, or for one session, and which layer each comes from: `session`, `store`
   * (`openStore`), `environment`, `file`, `preset` or `default`. What is missing scales with the window or does not apply.
   * Throws `SESSION_NOT_FOUND`.
   */
  async getConfig(sessionId?: string): Promise<ResolvedConfig> {
    if (sessionId === undefined) return copyOf(this.configuration.ofStore)
    const session = await this.requireSession(checkId(sessionId))
    const { settings, sources } = this.configuration.ofSession(session.config)
    const { provider, model } = this.configuration.modelOf(session)
    return {
      settings: {
        ...settings,
        ...(provider !== undefined && { provider }),
        ...(model !== undefined && { model }),
      },
      sources: {
        ...sources,
        ...(session.provider !== undefined && { provider: 'session' as const }),
        ...(session.model !== undefined && { model: 'session' as const }),
      },
    }
  }

  /**
   * Holds a session to what must be true of it and answers what is not. With `repair: true` tags, sizes and
   * counters are rebuilt from coverage, statuses and contents, which are never touched.
   */
  async verifySession(
    sessionId: string,
    options: VerifyOptions = {},
  ): Promise<{ findings: Finding[]; repaired: boolean }> {
    const { repair } = check(verifySchema, options, 'verifySession')
    return this.storage.verify(checkId(sessionId), repair)
  }

  /** Counts a session anew, with the store's own estimator or another it was given. Throws `ESTIMATOR_UNKNOWN`. */
  async reestimate(sessionId: string, estimator: string = this.estimators.standard.name): Promise<Session> {
    const id = checkId(sessionId)
    const found = this.estimators.byName.get(estimator)
    if (found === undefined)
      throw new UndertextError('ESTIMATOR_UNKNOWN', {
        sessionId: id,
        estimator: headOf(String(estimator), 100),
      })
    return publicSession(await this.storage.reestimate(id, found))
  }
}

function copyOf({ settings, sources }: ResolvedConfig): ResolvedConfig {
  return { settings: { ...settings }, sources: { ...sources } }
}

/** A session without what only the storage needs. */
function publicSession(session: Session): Session {
  const {
    no: _no,
    inserted: _inserted,
    retired: _retired,
    ...rest
  } = session as Session & Record<string, unknown>
  return rest as Session
}

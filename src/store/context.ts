import { invalid, UndertextError } from '../core/errors.ts'
import { headOf } from '../core/messages/characters.ts'
import type { ViewMessage } from '../core/messages/message.ts'
import { type Moment, publicPoint } from '../core/model/moment.ts'
import type { ResizeImage } from '../core/rendering/render.ts'
import { withToolNames } from '../core/rendering/repair-tool-use.ts'
import type { Readings } from '../core/tokens/calibration.ts'
import type { Estimator } from '../core/tokens/estimators/estimator-schema.ts'
import { isAssumed } from '../core/tokens/windows.ts'
import type { Awaitable } from '../storage/jobs.ts'
import type { Estimators, ListedSession, Session, SessionFigures, Storage } from '../storage/storage.ts'
import { type ContextStats, contextStats } from './compaction/stats.ts'
import { type ChosenModel, resolveModel } from './config/model.ts'
import { Configuration } from './config/resolve.ts'
import type { Layer } from './config/settings.ts'
import type { CheckedStats } from './config/store-options.ts'
import { Events } from './events.ts'
import { ResizedImages, type ResizeStoredImage } from './requests/resized-images.ts'

/** The options of `openStore` that concern all sessions. */
export type StoreSettings = {
  readonly estimators: Estimators
  /** Settings of all sessions, layer with the highest precedence first. */
  readonly layers?: readonly Layer[]
  readonly resizeImage?: ResizeStoredImage | undefined
  /** Whether the store is used for one owner at a time. */
  readonly strict?: boolean
}

const MAX_MODELS = 10_000
const UNNAMED = { provider: undefined, model: undefined }

/** The parts of a store that several of its methods need: storage, estimators, configuration and events. */
export class StoreContext<S extends Storage = Storage> {
  readonly storage: S
  readonly estimators: Estimators
  readonly configuration: Configuration
  readonly events: Events
  /** The owner whose store this is; absent for a store of all owners. */
  readonly owner: string | undefined
  /** Images that the application resized; absent without a function for that. */
  readonly images: ResizedImages | undefined
  /** The model of each session's last stats, if it isn't that of the settings. */
  readonly #models = new Map<string, ChosenModel>()
  readonly #assumed: Set<string>

  constructor(storage: S, from: StoreSettings | StoreContext, owner?: string) {
    this.storage = storage
    this.estimators = from.estimators
    this.owner = owner
    if (from instanceof StoreContext) {
      this.images = from.images
      // One warning for all owners.
      this.#assumed = from.#assumed
      this.configuration = from.configuration
      this.events = new Events(from.events, owner)
    } else {
      this.images = from.resizeImage && new ResizedImages(from.resizeImage)
      this.configuration = new Configuration(from.layers ?? [])
      this.events = new Events()
      this.#assumed = new Set()
    }
  }

  /** Returns the storage of a named owner. Throws `INVALID_INPUT` in the store of another owner. */
  storageOf(owner: string | undefined): Storage {
    if (owner === undefined || owner === this.owner) return this.storage
    if (this.owner !== undefined) throw invalid('owner: this is the store of another owner')
    return this.storage.seenBy(owner)
  }

  /**
   * Reads the session's figures together with the readings of its last model, and adds them up. For another model the readings are read
   * again; another writer may commit in between, and each is correct for its own moment.
   */
  stats(
    sessionId: string,
    provider?: string,
    model?: string,
    request: CheckedStats = {},
  ): Awaitable<ContextStats | null> {
    if (request.at !== undefined) return this.#pastStats(sessionId, request.at, { provider, model, request })
    const isNamed = provider !== undefined || model !== undefined
    const last =
      (isNamed ? undefined : this.#models.get(sessionId)) ?? this.modelFor(UNNAMED, provider, model)
    return when(this.storage.stats(sessionId, last.key, last.model ?? ''), (read) => {
      if (read === undefined || read.figures.messageCount === 0) return null
      const { figures } = read
      const { settings } = this.configuration.ofSession(figures.config)
      if (!settings.enabled) return null
      const chosen = this.modelFor(figures, provider, model)
      const isSame = chosen.key === last.key && chosen.model === last.model
      if (!isSame && !isNamed) this.#remember(sessionId, chosen)
      const readings = isSame
        ? read.readings
        : this.storage.readings(sessionId, chosen.key, chosen.model ?? '')
      return when(readings, (found) => this.statsOf(sessionId, figures, found, { provider, model, request }))
    })
  }

  async #pastStats(
    sessionId: string,
    at: Moment,
    given: Pick<Parameters<typeof contextStats>[2], 'provider' | 'model' | 'request'>,
  ): Promise<ContextStats | null> {
    const session = await this.storage.session(sessionId)
    if (session === undefined) return null
    const chosen = this.modelFor(session, given.provider, given.model)
    const past = await this.storage.past.stats(sessionId, chosen.key, chosen.model ?? '', at)
    if (past === undefined || past.figures.messageCount === 0) return null
    if (!this.configuration.ofSession(past.figures.config).settings.enabled) return null
    const stats = this.statsOf(sessionId, past.figures, past.readings, given)
    return { ...stats, moment: publicPoint(past.point) }
  }

  #remember(sessionId: string, model: ChosenModel): void {
    if (this.#models.size >= MAX_MODELS) this.#models.clear()
    this.#models.set(sessionId, model)
  }

  statsOf(
    sessionId: string,
    figures: SessionFigures,
    readings: Readings,
    given: Pick<Parameters<typeof contextStats>[2], 'provider' | 'model' | 'request'>,
  ): ContextStats {
    // Field by field: a spread took a fifth of the time of all stats.
    return contextStats(figures, readings, {
      provider: given.provider,
      model: given.model,
      request: given.request,
      settings: this.configuration.ofSession(figures.config).settings,
      own: this.configuration.modelOf(figures),
      estimator: this.estimatorNamed(figures.estimator, sessionId),
      contextWindows: this.configuration.ofStore.settings.contextWindows,
    })
  }

  /** Renders with the images that the application resized for this rendering. */
  async rendered<T>(render: (resizeImage: ResizeImage | undefined) => T): Promise<T> {
    const { images } = this
    return images === undefined ? render(undefined) : images.rendered(() => render(images.lookup))
  }

  /** Returns the provider and model of a call: the given ones, else those of the session, else those of the settings. */
  modelFor(
    session: Pick<Session, 'provider' | 'model'> | undefined,
    provider?: string,
    model?: string,
  ): ChosenModel {
    return resolveModel(session && this.configuration.modelOf(session), provider, model)
  }

  /**
   * Warns once per model that its window is only assumed: a request that is too large for the real one fails, or is cut without an error.
   * Without a listener, emits a process warning.
   */
  warnOfWindow(sessionId: string, stats: ContextStats | null): void {
    if (stats?.model === undefined || !isAssumed(stats.contextWindow)) return
    const { provider, model, contextWindow } = stats
    const name = `${provider}/${model}`
    if (this.#assumed.has(name) || this.#assumed.size >= MAX_MODELS) return
    this.#assumed.add(name)
    const { tokens } = contextWindow
    const message = `The context window of ${name} is unknown, so ${tokens} tokens are assumed: pass contextWindows to openStore.`
    if (this.events.hasListener('windowAssumed'))
      this.events.emit('windowAssumed', { sessionId, provider, model, tokens, message })
    else process.emitWarning(message, { type: 'UndertextWarning', code: 'UNDERTEXT_WINDOW' })
  }

  /** Returns the name of the estimator of a new session. Throws `INVALID_INPUT` for one that the store doesn't know. */
  estimatorFor(config: Session['config']): string {
    const { estimators, configuration } = this
    // A copy: resolved settings are cached by object, and this object belongs to the caller.
    const { settings, sources } = configuration.ofSession(config && { ...config })
    const isStoreEstimator = settings.estimator === configuration.ofStore.settings.estimator
    if (isStoreEstimator || sources.estimator === 'default') return estimators.standard.name
    if (!estimators.byName.has(settings.estimator))
      throw invalid('sessions.create: config: this estimator is unknown to the store')
    return settings.estimator
  }

  estimatorNamed(name: string, sessionId: string): Estimator {
    const estimator = this.estimators.byName.get(name)
    if (estimator !== undefined) return estimator
    throw new UndertextError('ESTIMATOR_UNKNOWN', { sessionId, estimator: headOf(String(name), 100) })
  }

  /** Returns a view ready to be rendered: results whose calls are hidden get the names of their tools from the log. */
  namedView(id: string, view: readonly ViewMessage[]): Promise<readonly ViewMessage[]> {
    return withToolNames(
      view,
      async (callId, position) => (await this.storage.toolOutput(id, callId, position))?.toolName,
    )
  }

  async requireSession(id: string): Promise<Session> {
    return found(await this.storage.session(id), id)
  }
}

/** Returns a session that was read. Throws `SESSION_NOT_FOUND`. */
export function found(session: Session | undefined, sessionId: string): Session {
  if (session === undefined) throw new UndertextError('SESSION_NOT_FOUND', { sessionId })
  return session
}

const PAGE = 1_000

/** Yields all sessions of a storage, archived ones last. */
export async function* sessionsIn(storage: Storage): AsyncGenerator<ListedSession> {
  for (const archived of [false, true]) {
    for (let after: ListedSession | undefined; ; ) {
      const page = await storage.listSessions({ archived, limit: PAGE, after })
      yield* page
      if (page.length < PAGE) break
      after = page.at(-1)
    }
  }
}

/** Calls `next` at once if the value is available, else when its promise resolves: a storage may be synchronous. */
export function when<T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** Returns a session without the fields that only the storage needs. */
export function publicSession<S extends Session>(session: S): S {
  const { no: _no, inserted: _inserted, retired: _retired, ...rest } = session as S & Record<string, unknown>
  return rest as unknown as S
}

/** Returns a storage whose verbs throw `OWNER_REQUIRED`; only that of an owner can be used. */
export function ownedStorageOnly<S extends Storage>(storage: S): S {
  const refuse = (): never => {
    throw new UndertextError('OWNER_REQUIRED', {})
  }
  const refusing = (verbs: object): object =>
    Object.fromEntries(
      Object.entries(verbs).map(([name, verb]) => [
        name,
        typeof verb === 'function' ? refuse : refusing(verb as object),
      ]),
    )
  const { seenBy, backup, close } = storage
  return { ...refusing(storage), seenBy, backup, close } as S
}

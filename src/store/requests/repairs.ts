import { isUndertextError, UndertextError, withOriginal } from '../../core/errors.ts'
import { defined } from '../../core/messages/json.ts'
import type { Refusal } from '../../core/overflow/read-refusal.ts'
import type { RefusalKind } from '../../core/overflow/wordings.ts'
import { readSnapshot } from '../requests.ts'
import type { Services } from '../services.ts'
import type { SessionSnapshot } from './draft.ts'
import type { CheckedPrepare } from './options.ts'
import type { PreparedRequest, RequestRepair } from './prepared.ts'
import { isAtOtherPart, type ProviderBlock, planRepair } from './repair-plan.ts'

const MAX_REPAIRS = 3
/** Maximum number of times a repair is planned if other writers change the view in between. */
const MAX_PLANS = 5

/** Kinds that are repaired one part at a time: a session has many parts of other kinds, and their repairs keep people's words. */
const SINGLE: ReadonlySet<RefusalKind> = new Set(['media', 'role', 'part'])

/** A repair, the refusal that it was made for, and its step in the plan. */
type Made = RequestRepair & {
  readonly refusal: Refusal
  readonly step: number
  readonly parts: readonly { readonly messageId: string; readonly part: number }[]
  /** Compactions of the provider that were undone; empty for a repair of parts. */
  readonly blocks: readonly ProviderBlock[]
  isUndone: boolean
}

/** The repairs of one call, each of which must change its request. A repair after which the provider rejects the same content is undone. */
export class Repairs {
  readonly #services: Services
  readonly #sessionId: string
  readonly #options: CheckedPrepare
  readonly #prepare: () => Promise<PreparedRequest | undefined>
  /** Oldest first. */
  readonly #made: Made[] = []
  /** The repair made for the current request. */
  #latest: Made | undefined
  /** Whether the last repair was undone, so that the view isn't the one that was sent. */
  #hasUndone = false
  #isVetoed = false
  readonly #refused: PreparedRequest['messages'][] = []
  /** Number of requests that were sent again because another writer had changed the view. */
  #sentAgain = 0

  constructor(
    services: Services,
    sessionId: string,
    options: CheckedPrepare,
    prepare: () => Promise<PreparedRequest | undefined>,
  ) {
    this.#services = services
    this.#sessionId = sessionId
    this.#options = options
    this.#prepare = prepare
  }

  /** Takes note of a rejected request. Undoes the repair made for it if the provider rejects the same content. */
  async judge(request: PreparedRequest, refusal: Refusal | null): Promise<void> {
    const last = this.#latest
    this.#latest = undefined
    this.#hasUndone = false
    this.#refused.push(request.messages)
    if (last === undefined || refusal === null || !isSameRefusal(last.refusal, refusal)) return
    const { view, images } = await this.#read(request)
    if (isAtOtherPart(view, { ...request, resizeImage: images?.lookup }, refusal, last.parts)) return
    this.#hasUndone = true
    try {
      if (last.blocks.length === 0) await this.#services.undo(this.#sessionId, last.compactionId)
      for (const { compactionId } of last.blocks) await this.#services.redo(this.#sessionId, compactionId)
      last.isUndone = true
    } catch (error) {
      // Another writer undid it, or built on it; then it stays.
      if (!isUndertextError(error)) throw error
    }
  }

  /**
   * Returns the next request; `undefined` if nothing is left to repair. With `place`, only the parts that the error points to are repaired.
   */
  async next(
    request: PreparedRequest,
    refusal: Refusal,
    reach: 'place' | 'any' = 'any',
  ): Promise<PreparedRequest | undefined> {
    const tried = this.#made.filter((made) => made.isUndone && isSameRefusal(made.refusal, refusal))
    const from = tried.reduce((most, { step }) => Math.max(most, step + 1), 0)
    for (let plans = 1; ; plans++) {
      const isOver = this.#isVetoed || this.#options.signal?.aborted
      if (isOver || this.#made.length + this.#sentAgain >= MAX_REPAIRS) return undefined
      const { view, viewEpoch, images } = await this.#read(request)
      if (!this.#hasUndone && viewEpoch !== request.viewEpoch) {
        // Another writer changed the view, perhaps with the same repair.
        this.#sentAgain += 1
        return this.#prepared()
      }
      const sent = { ...request, refused: this.#refused, resizeImage: images?.lookup }
      const wide = this.#mayBeOneOfMany(refusal) ? planRepair(view, sent, refusal, from, 'all') : undefined
      const plan = wide ?? planRepair(view, sent, refusal, from, reach)
      if (plan === undefined) return undefined
      const { step, parts, blocks } = plan
      const { kind, path } = refusal
      const params = defined({ refusal: kind, path, provider: request.provider, step })
      try {
        for (const { compactionId } of blocks) await this.#services.undo(this.#sessionId, compactionId)
        const compactionId =
          blocks[0]?.compactionId ??
          (await this.#services.repair(this.#sessionId, { parts, params, viewEpoch }))
        if (compactionId === undefined) {
          this.#isVetoed = true
          return undefined
        }
        const messageIds = [...new Set([...parts, ...blocks].map(({ messageId }) => messageId))]
        const facts = { compactionId, kind, messageIds, ...defined({ path }) }
        this.#latest = { ...facts, refusal, step, parts, blocks, isUndone: false }
        this.#made.push(this.#latest)
        return await this.#prepared()
      } catch (error) {
        if (!isUndertextError(error, 'STALE_PLAN') || plans === MAX_PLANS) throw error
      }
    }
  }

  /** Returns the error for a request that is refused despite all repairs; the provider's own error if nothing was repaired. */
  failure(request: PreparedRequest, refusal: Refusal, error: unknown): unknown {
    const tried = this.#made.map(({ kind, messageIds, isUndone, path }) => ({
      kind,
      messageIds,
      undone: isUndone,
      ...defined({ path }),
    }))
    if (tried.length === 0) return error
    const { kind, path } = refusal
    const facts = {
      sessionId: this.#sessionId,
      provider: request.provider,
      kind,
      ...defined({ path }),
      tried,
    }
    // A provider's error may contain the whole request, so it isn't the `cause`.
    return withOriginal(new UndertextError('REQUEST_REFUSED', facts), error)
  }

  /**
   * Whether this is the last repair and each of the previous ones of its kind helped: there may be many such parts, such as the ids of all
   * calls.
   */
  #mayBeOneOfMany({ kind }: Refusal): boolean {
    const isLast = this.#made.length + this.#sentAgain === MAX_REPAIRS - 1
    return isLast && !SINGLE.has(kind) && this.#made.every((made) => made.kind === kind && !made.isUndone)
  }

  /** Returns the view as in the request, without messages appended since. */
  async #read({
    position,
  }: PreparedRequest): Promise<Pick<SessionSnapshot, 'view' | 'viewEpoch' | 'images'>> {
    const { provider, model } = this.#options
    const { view, viewEpoch, images } = await readSnapshot(
      this.#services.context,
      this.#sessionId,
      provider,
      model,
    )
    const shown = view.filter((row) => row.position === undefined || row.position <= position)
    return { view: shown, viewEpoch, images }
  }

  async #prepared(): Promise<PreparedRequest | undefined> {
    const request = await this.#prepare()
    const inForce = this.#made.filter(({ isUndone }) => !isUndone)
    if (request === undefined || inForce.length === 0) return request
    const repairs = inForce.map(({ compactionId, kind, path, messageIds }) => ({
      compactionId,
      kind,
      messageIds,
      ...defined({ path }),
    }))
    return { ...request, repairs }
  }
}

function isSameRefusal(a: Refusal, b: Refusal): boolean {
  return a.kind === b.kind && a.path === b.path && a.ids.join() === b.ids.join()
}

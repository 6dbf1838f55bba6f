import { isUndertextError } from '../../core/errors.ts'
import { check } from '../../core/messages/check.ts'
import { defined } from '../../core/messages/json.ts'
import type { NewMessage } from '../../core/messages/message.ts'
import { readOverflow } from '../../core/overflow/read-overflow.ts'
import { type MediaRefusal, mediaRefusal, readRefusal } from '../../core/overflow/read-refusal.ts'
import { KEEP_RECENT_MEDIA } from '../../core/stages/media.ts'
import { FEW_IMAGES } from '../../core/tokens/media-limits.ts'
import type { CompactionResult } from '../compaction/result.ts'
import { PREPARE_WAIT_MS } from '../compaction/waiting.ts'
import type { ResolvedSettings } from '../config/settings.ts'
import { type CompactOptions, overflowSchema } from '../config/store-options.ts'
import type { Services } from '../services.ts'
import { recordOverflow, reportedSize } from '../usage.ts'
import { type CheckedPrepare, describedBy, requestParts, runOptions } from './options.ts'
import { prepareRequest } from './prepare.ts'
import { exceeded, type PreparedRequest } from './prepared.ts'
import { Repairs } from './repairs.ts'
import { automaticSettings, Deadline, lastResort, WITHOUT_WAITING } from './room.ts'

/** Share of the provider's room to which a request is reduced after an overflow. */
export const OVERFLOW_TARGET = 0.7
/** The shares for the later steps; docs/internals/decisions.md has the reasons. */
const LOWER_TARGETS = [0.5, 0.35] as const
/** Share of the images that a provider accepts to which a request is reduced after a refusal. */
const MEDIA_TARGET = 0.7

/** A call that is repeated after an overflow or a refusal. */
export type RecoveredCall = {
  readonly services: Services
  readonly sessionId: string
  readonly options: CheckedPrepare
  readonly prompt: readonly NewMessage[]
  readonly settings: ResolvedSettings
}

/**
 * Prepares a request and makes the call. After an overflow, shortens the history and calls again, once for each step: the session's stages;
 * the same without a model; truncation and the emergency cut. After a refusal of the content, repairs the rejected parts.
 */
export async function withRecovery<T>(
  services: Services,
  sessionId: string,
  call: (request: PreparedRequest, attempt: number) => T | Promise<T>,
  options: CheckedPrepare,
  prompt: readonly NewMessage[],
): Promise<T> {
  let request = await prepareRequest(services, sessionId, options, prompt)
  const settings = await services.settingsOf(sessionId)
  const isOn = (options.auto ?? settings.auto) && settings.enabled
  const recovery = new Recovery({ services, sessionId, options, prompt, settings })
  const repairs = new Repairs(services, sessionId, options, () => recovery.prepare())
  let shortened = 0
  for (let attempt = 1; ; attempt++) {
    let error: unknown
    try {
      return await call(request, attempt)
    } catch (thrown) {
      error = thrown
    }
    const { provider } = request
    if (!isOn || options.signal?.aborted) throw error
    const rules = { ...options.overflow, provider }
    const refusal = readRefusal(error, rules)
    const media = mediaRefusal(error)
    const sent = request
    await unlessOwnError(() => repairs.judge(sent, refusal))
    if (media !== undefined) {
      // The part named in the error comes before others, which may be fine. A limit on the number of images names no single part.
      const isPlace = refusal?.path !== undefined && media.maxImages === undefined
      const repaired = isPlace ? await unlessOwnError(() => repairs.next(sent, refusal, 'place')) : undefined
      const lighter = repaired ?? (await recovery.showLessMedia(request, media))
      if (lighter !== undefined) {
        shortened += repaired === undefined ? 1 : 0
        request = lighter
        continue
      }
    }
    if (refusal !== null) {
      const repaired = await unlessOwnError(() => repairs.next(sent, refusal))
      if (repaired === undefined) throw repairs.failure(request, refusal, error)
      request = repaired
      continue
    }
    if (readOverflow(error, rules) === undefined) throw error
    const reported = await recovery.recordOverflow(request, error)
    const next = await recovery.shorten(request, reported)
    if (next !== undefined) {
      shortened += 1
      request = next
      continue
    }
    // Nothing made the request smaller: the provider's own error contains the reason of the refusal.
    if (shortened === 0 || options.signal?.aborted) throw error
    throw exceeded(request.stats, recovery.stagesUsed, { cause: error, reportedTokens: reported ?? 0 })
  }
}

class Recovery {
  readonly #call: RecoveredCall
  #step = 0
  readonly stagesUsed: string[] = []
  /** The number of newest media that each of the next steps keeps, after a refusal of media. */
  #keeps: number[] | undefined

  constructor(call: RecoveredCall) {
    this.#call = call
  }

  /** Records the figures in the error and returns its request size. A failed write must not replace the error. */
  async recordOverflow(request: PreparedRequest, error: unknown): Promise<number | undefined> {
    const { provider, model } = request
    const { overflow } = this.#call.options
    const sent = { ...describedBy(request), provider, ...defined({ model, overflow }) }
    const outcome = await unlessOwnError(async () =>
      recordOverflow(
        this.#call.services.context,
        this.#call.sessionId,
        error,
        check(overflowSchema, sent, 'limits.learn'),
      ),
    )
    return outcome?.isOverflow ? reportedSize(outcome.reading) : undefined
  }

  /** Returns a request with fewer media, using the remaining media steps; `undefined` if none of them changed it. */
  async showLessMedia(request: PreparedRequest, refusal: MediaRefusal): Promise<PreparedRequest | undefined> {
    const { provider, model, compaction, signal } = this.#call.options
    const { images } = request.stats
    if (images.used === 0 && request.stats.sizes.mediaBytes === 0) return undefined
    const own = { provider, model, compaction: automaticSettings(compaction) }
    this.#keeps ??= mediaSteps(images.used, refusal)
    for (let keep = this.#keeps.shift(); keep !== undefined; keep = this.#keeps.shift()) {
      const run = await this.#compact({
        ...runOptions(own, {}),
        ...WITHOUT_WAITING,
        trigger: 'overflow',
        stages: [{ stage: 'media', keep }],
      })
      if (signal?.aborted) return undefined
      if (run?.compacted !== true) continue
      for (const stage of run.stagesUsed) this.stagesUsed.push(stage)
      const next = await this.prepare()
      if (next !== undefined && next.viewEpoch !== request.viewEpoch) return next
    }
    return undefined
  }

  /** Returns a shorter request, using the remaining steps; `undefined` if none of them made it shorter. */
  async shorten(
    request: PreparedRequest,
    reportedTokens: number | undefined,
  ): Promise<PreparedRequest | undefined> {
    const { provider, model, maxOutputTokens, contextWindowTarget, compaction, signal } = this.#call.options
    const { system, tools, pendingTokens } = request
    const pending = requestParts({ system, tools, pendingTokens, maxOutputTokens, contextWindowTarget })
    // The stats now include the limit learned from the error.
    const stats = await unlessOwnError(async () =>
      this.#call.services.context.stats(this.#call.sessionId, provider, model, pending),
    )
    if (stats === null || stats === undefined) return undefined
    const size = Math.max(reportedTokens ?? 0, request.stats.estimatedInputTokens)
    // The provider has less room than the refused request takes, whatever its figures are.
    const room = Math.max(1, Math.min(stats.availableInputTokens, size))
    const steps = this.#steps(room)
    const target = Math.floor(OVERFLOW_TARGET * room)
    // Another call of the session may have shortened the history in the meantime.
    const isShorter = stats.estimated < request.stats.estimated
    let best = isShorter ? ifSmaller(await this.prepare(), request) : undefined
    if (best !== undefined && best.stats.estimatedInputTokens <= target) return best
    const own = { provider, model, compaction: automaticSettings(compaction) }
    const config = {
      ...runOptions(own, pending),
      trigger: 'overflow' as const,
      ...defined({ reportedTokens }),
    }
    while (this.#step < steps.length) {
      const run = await this.#compact({ ...config, ...steps[this.#step++]! })
      if (signal?.aborted) return undefined
      if (run?.compacted !== true) continue
      for (const stage of run.stagesUsed) this.stagesUsed.push(stage)
      const next = ifSmaller(await this.prepare(), best ?? request)
      if (next === undefined) continue
      best = next
      if (next.stats.estimatedInputTokens <= target) return next
    }
    return best
  }

  /** Returns the options of each step's run. The last step cuts contents even if the window has room for them. */
  #steps(room: number): readonly CompactOptions[] {
    const [lower, lowest] = LOWER_TARGETS
    const steps = [
      { contextWindowTarget: room, target: OVERFLOW_TARGET },
      { contextWindowTarget: room, target: lower, ...WITHOUT_WAITING },
    ]
    const stages = lastResort(this.#call.options, this.#call.settings)
    if (stages === undefined) return steps
    const least = Math.max(1, Math.floor(room * lowest))
    return [...steps, { contextWindowTarget: least, target: 1, stages, ...WITHOUT_WAITING }]
  }

  /** Prepares the request again; makes room only if it doesn't fit. */
  prepare(): Promise<PreparedRequest | undefined> {
    return unlessOwnError(() =>
      prepareRequest(this.#call.services, this.#call.sessionId, this.#call.options, this.#call.prompt, true),
    )
  }

  /** Runs a compaction within the time limit; returns `null` if it fails or takes too long. */
  async #compact(config: CompactOptions): Promise<CompactionResult | null> {
    const { waitMs = PREPARE_WAIT_MS, signal } = this.#call.options
    const summaryMs = config.summaryTimeoutMs ?? this.#call.settings.summaryTimeoutMs ?? waitMs
    const summaryTimeoutMs = Math.max(1, Math.min(summaryMs, waitMs))
    const run = await unlessOwnError(() =>
      new Deadline(this.#call.sessionId, waitMs, signal).within((both) =>
        this.#call.services.compact(this.#call.sessionId, { ...config, summaryTimeoutMs, signal: both }),
      ),
    )
    return typeof run === 'object' ? run : null
  }
}

/**
 * Returns the number of newest media that each step keeps after a refusal. First: a share of what the provider accepts or, if unknown,
 * half, but no more than may have any resolution. Then a few; then none, because one of the remaining ones may be too large.
 */
function mediaSteps(images: number, { maxImages }: MediaRefusal): number[] {
  const half = Math.min(FEW_IMAGES, Math.floor(images / 2))
  const first = maxImages === undefined ? half : Math.floor(MEDIA_TARGET * maxImages)
  return [first, KEEP_RECENT_MEDIA, 0].filter((keep, at, all) => at === 0 || keep < all[at - 1]!)
}

/** Returns a request of another view if it is smaller than the previous one. */
function ifSmaller(next: PreparedRequest | undefined, before: PreparedRequest): PreparedRequest | undefined {
  const isSmaller =
    next !== undefined && next.viewEpoch !== before.viewEpoch && next.stats.estimated < before.stats.estimated
  return isSmaller ? next : undefined
}

/** Returns `undefined` for an error of this package, which must not replace the provider's. */
async function unlessOwnError<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (isUndertextError(error)) return undefined
    throw error
  }
}

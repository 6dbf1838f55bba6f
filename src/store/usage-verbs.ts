import type { ContextStats } from '../compaction/stats.ts'
import {
  limitNamed,
  type OverflowResult,
  overflowResult,
  sizeNamed,
  type UsageResult,
  usageResult,
} from '../compaction/usage-result.ts'
import { type SessionUsage, sessionUsage } from '../compaction/usage-totals.ts'
import { resolveModel } from '../config/model.ts'
import {
  type LimitInput,
  limitSchema,
  type OverflowInput,
  overflowSchema,
  type StatsOptions,
  type UsageInput,
  usageSchema,
} from '../config/store-options.ts'
import { check, nameSchema } from '../messages/check.ts'
import { overflowReader } from '../overflow/overflow.ts'
import type { Awaitable } from '../storage/jobs.ts'
import type { LearnedLimit, Session, Storage, UsageReport } from '../storage/storage.ts'
import { estimateOf, estimateRequest } from '../tokens/budget.ts'
import type { LearnedTokens } from '../tokens/calibration.ts'
import { listPrices } from '../tokens/prices.ts'
import { canonicalProvider } from '../tokens/providers.ts'
import { StoreBase, when } from './base.ts'
import { checkId, checkStats } from './check-arguments.ts'

/** How full the context is, and what providers reported of it. */
export class UsageVerbs<S extends Storage> extends StoreBase<S> {
  /**
   * How full the context is, from the counters of one row, so it costs the same for any length. `null` for a
   * session without messages and for an unknown one. Provider and model: these, else the session's own, else
   * "openai". `options` is what is about to be sent besides the history.
   */
  async getContextStats(
    sessionId: string,
    provider?: string,
    model?: string,
    options: StatsOptions = {},
  ): Promise<ContextStats | null> {
    return this.stats(sessionId, provider, model, checkStats(sessionId, provider, model, options))
  }

  /** Whether compaction is due: usage at or above the threshold (0.8). `false` for a session without messages. */
  needsCompaction(
    sessionId: string,
    provider?: string,
    model?: string,
    options: StatsOptions = {},
  ): Awaitable<boolean> {
    const stats = this.stats(sessionId, provider, model, checkStats(sessionId, provider, model, options))
    return when(stats, (found) => found?.shouldCompact ?? false)
  }

  /**
   * Tells the store what a provider reported of a request, so that its figures become true: call it after each answer,
   * before or after appending the answer. Keeps the report with the view it is of (`getContextStats` builds on it until
   * the view changes by anything but appends) and moves the ratio of the model, which all sessions share.
   *
   * What was billed is added up (`getUsage`), also when the report is of a view that is gone.
   *
   * A report more than twice, or less than half, of what was expected counts only as that much until the next one
   * confirms it. One of less than half of what the model's ratio makes of the estimate is none of the whole request: the result and the
   * event `usageWarning` say so, and no figure is made of it. A report above a limit learnt from an overflow takes that limit away. Reports of 0 tokens are ignored.
   * Throws `SESSION_NOT_FOUND`.
   */
  async recordUsage(sessionId: string, usage: UsageInput): Promise<UsageResult> {
    const id = checkId(sessionId)
    const checked = check(usageSchema, usage, 'recordUsage')
    const session = await this.requireSession(id)
    const tokens = checked.inputTokens + (checked.cacheReadTokens ?? 0) + (checked.cacheCreationTokens ?? 0)
    const { usage: result } = await this.#record(session, tokens, checked, {
      wentThrough: true,
      limit: undefined,
      billed: {
        inputTokens: checked.inputTokens,
        cacheReadTokens: checked.cacheReadTokens ?? undefined,
        cacheCreationTokens: checked.cacheCreationTokens ?? undefined,
        outputTokens: checked.outputTokens ?? 0,
      },
    })
    return result
  }

  /**
   * What a session was billed for: the tokens `recordUsage` received, in all and by provider and model, what they cost by the list
   * prices of `@pydantic/genai-prices`, and what its summaries cost, by summarizer and model, those that came to nothing included.
   * Costs are US dollars, `null` where no price is known. Throws `SESSION_NOT_FOUND`.
   */
  async getUsage(sessionId: string): Promise<SessionUsage> {
    const recorded = await this.storage.usage(checkId(sessionId))
    return sessionUsage(recorded, await listPrices())
  }

  /**
   * Tells the store of an error that may be an overflow, after a request that failed: the size it names counts as a report
   * (see `recordUsage`), the limit it names is learnt (see `learnLimit`). An error that is none changes nothing.
   * Throws `SESSION_NOT_FOUND`, never because of the error.
   */
  async recordOverflow(
    sessionId: string,
    error: unknown,
    request: OverflowInput = {},
  ): Promise<OverflowResult> {
    const id = checkId(sessionId)
    const checked = check(overflowSchema, request, 'recordOverflow')
    const overflowOf = overflowReader(error)
    const session = await this.requireSession(id)
    const { overflow: rules, ...known } = checked
    const named = checked.provider ?? session.provider
    const overflow = overflowOf({ ...rules, provider: named })
    if (overflow === undefined) return { isOverflow: false }
    // Where nobody says whose request it was, the error does.
    const called = named ?? overflow.provider ?? undefined
    const own = this.configuration.modelOf(session)
    const { provider, key, model = '' } = resolveModel(own, called, checked.model)
    const details = overflowOf({ ...rules, provider })!.details
    const size = sizeNamed(details)
    const limit = limitNamed(details)
    // Size and limit in one transaction; a limit alone has no report to go with.
    if (size !== undefined) {
      const { usage, learned } = await this.#record(
        session,
        size,
        { ...known, provider },
        { wentThrough: false, limit, billed: undefined },
      )
      const lowest = limit && { ...limit, tokens: learned[limit.kind] ?? limit.tokens }
      return overflowResult(details, lowest, usage)
    }
    const lowest = limit && { ...limit, tokens: await this.storage.learnLimit(key, model, limit) }
    return overflowResult(details, lowest)
  }

  async #record(
    { id, provider, model, estimator }: Session,
    tokens: number,
    request: OverflowInput,
    { wentThrough, limit, billed }: Pick<UsageReport, 'wentThrough' | 'limit' | 'billed'>,
  ): Promise<{ readonly usage: UsageResult; readonly learned: LearnedTokens }> {
    const own = this.configuration.modelOf({ provider, model })
    const chosen = resolveModel(own, request.provider, request.model)
    const counting = this.estimatorNamed(estimator, id)
    const raw = estimateRequest(chosen.key, request, 0, counting)
    const { standing, pending } = estimateOf(raw)
    const report = {
      provider: chosen.key,
      model: chosen.model ?? '',
      tokens,
      position: request.position,
      viewEpoch: request.viewEpoch,
      wentThrough,
      limit,
      standing,
      pending,
      billed,
    }
    const outcome = await this.storage.recordUsage(id, report)
    const usage = usageResult(report, outcome, estimator)
    if (usage.warning !== undefined) {
      const { provider: key, model: name } = usage
      this.events.emit('usageWarning', {
        ...usage.warning,
        sessionId: id,
        provider: key,
        ...(name !== undefined && { model: name }),
      })
    }
    return { usage, learned: outcome.after.learned }
  }

  /**
   * Notes a limit a provider enforces, tokens, for all sessions and this very model name: of the context window (`kind: 'window'`, the
   * default), which counts when it is lower than what the tables say, or of the input alone (`'input'`). Of several of a kind the
   * lowest stays. Answers it.
   */
  async learnLimit(limit: LimitInput): Promise<number> {
    const { provider, model = '', tokens, kind } = check(limitSchema, limit, 'learnLimit')
    return this.storage.learnLimit(canonicalProvider(provider), model, { tokens, kind })
  }

  /** The limits that were learnt. */
  async listLimits(): Promise<LearnedLimit[]> {
    return this.storage.limits()
  }

  /** Forgets the limit that was learnt of a model. Answers whether there was one. */
  async forgetLimit(provider: string, model?: string): Promise<boolean> {
    const name = check(nameSchema, provider, 'forgetLimit: provider')
    const of = check(nameSchema.optional(), model, 'forgetLimit: model') ?? ''
    return this.storage.forgetLimit(canonicalProvider(name), of)
  }
}

import { check, nameSchema } from '../../core/messages/check.ts'
import { withRequestNames } from '../../core/tokens/budget.ts'
import { canonicalProvider } from '../../core/tokens/providers.ts'
import type { LearnedLimit } from '../../storage/storage.ts'
import { checkId } from '../arguments.ts'
import type { OverflowResult } from '../compaction/usage.ts'
import { type LimitInput, limitSchema, type OverflowInput, overflowSchema } from '../config/store-options.ts'
import type { Services } from '../services.ts'
import { recordOverflow } from '../usage.ts'

/** Limits of models that were learned from errors, or set. */
export class Limits {
  readonly #services: Services

  /** @internal */
  constructor(services: Services) {
    this.#services = services
  }

  /**
   * Records an error that may be an overflow, after a request that failed: the size in its text counts as a report (see
   * `requests.recordUsage`), and the limit in its text is learned (see `limits.set`). Any other error changes nothing. The error itself never
   * makes this method throw.
   */
  async learn(sessionId: string, error: unknown, request: OverflowInput = {}): Promise<OverflowResult> {
    const id = checkId(sessionId)
    return recordOverflow(
      this.#services.context,
      id,
      error,
      check(overflowSchema, withRequestNames(request), 'limits.learn'),
    )
  }

  /**
   * Records a limit that a provider enforces, in tokens, for all sessions and exactly this model name: of the context window (`kind:
   * 'window'`, the default), which applies when it is lower than the tables, or of the input alone (`'input'`). The lowest of each kind
   * is kept, and returned.
   */
  async set(limit: LimitInput): Promise<number> {
    const { provider, model = '', tokens, kind } = check(limitSchema, limit, 'limits.set')
    return this.#services.context.storage.learnLimit(canonicalProvider(provider), model, { tokens, kind })
  }

  /** Lists the limits that were learned. */
  async list(): Promise<LearnedLimit[]> {
    return this.#services.context.storage.limits()
  }

  /** Removes the limit that was learned for a model. Returns whether there was one. */
  async forget(provider: string, model?: string): Promise<boolean> {
    const name = check(nameSchema, provider, 'limits.forget: provider')
    const modelName = check(nameSchema.optional(), model, 'limits.forget: model') ?? ''
    return this.#services.context.storage.forgetLimit(canonicalProvider(name), modelName)
  }
}

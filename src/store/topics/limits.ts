import { z } from 'zod'
import { check, nameSchema } from '../../core/messages/check.ts'
import { withRequestNames } from '../../core/tokens/budget.ts'
import { canonicalProvider } from '../../core/tokens/providers.ts'
import { type LearnedLimit, LIMIT_KINDS } from '../../storage/storage.ts'
import { checkId } from '../arguments.ts'
import { MAX_TOKENS, type OverflowInput, overflowSchema } from '../config/store-options.ts'
import type { Services } from '../services.ts'
import { type OverflowResult, recordOverflow } from '../usage.ts'

const limitSchema = z.strictObject({
  provider: nameSchema,
  model: nameSchema.optional(),
  tokens: z.int().positive().max(MAX_TOKENS),
  /** Whether the limit applies to input and output together (`window`), or to the input alone (`input`). */
  kind: z.enum(LIMIT_KINDS).default('window'),
})
/** The limit of a model in tokens: of its context window or of its input. */
export type LimitInput = z.input<typeof limitSchema>

/** Limits of models, learned from errors or set by the application. */
export class Limits {
  readonly #services: Services

  /** @internal */
  constructor(services: Services) {
    this.#services = services
  }

  /**
   * Learns from the error of a failed request if it is an overflow: the size in its text counts as a report (see `requests.recordUsage`),
   * and the limit in its text is recorded (see `limits.set`). Any other error changes nothing. The method never throws because of the error
   * itself.
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
   * Records a limit that a provider enforces, in tokens, for all sessions and exactly this model name. `kind: 'window'` (the default)
   * limits the context window and applies if it is lower than the tables; `'input'` limits the input alone. The lowest limit of each kind
   * is kept and returned.
   */
  async set(limit: LimitInput): Promise<number> {
    const { provider, model = '', tokens, kind } = check(limitSchema, limit, 'limits.set')
    return this.#services.context.storage.learnLimit(canonicalProvider(provider), model, { tokens, kind })
  }

  /** Lists the recorded limits. */
  async list(): Promise<LearnedLimit[]> {
    return this.#services.context.storage.limits()
  }

  /** Removes the recorded limit of a model. Returns whether there was one. */
  async forget(provider: string, model?: string): Promise<boolean> {
    const name = check(nameSchema, provider, 'limits.forget: provider')
    const modelName = check(nameSchema.optional(), model, 'limits.forget: model') ?? ''
    return this.#services.context.storage.forgetLimit(canonicalProvider(name), modelName)
  }
}

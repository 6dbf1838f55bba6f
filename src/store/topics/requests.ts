import { z } from 'zod'
import { invalid } from '../../core/errors.ts'
import { check, nameSchema, readable } from '../../core/messages/check.ts'
import type { PositionRange } from '../../core/messages/message.ts'
import { withRequestNames } from '../../core/tokens/budget.ts'
import { listPrices } from '../../core/tokens/prices.ts'
import { checkId } from '../arguments.ts'
import { usageSchema } from '../config/store-options.ts'
import { type Costs, type CostsOptions, costsOf, costsQuery, costsSchema } from '../costs.ts'
import {
  type CompareRequestsOptions,
  compareRequests,
  compareSchema,
  type RequestComparison,
} from '../requests/compare.ts'
import { readRenderedRequest } from '../requests/read-request.ts'
import { reportChange, requestSchema, type UsageReportInput } from '../requests/record.ts'
import {
  newRequest,
  type RecordedRequest,
  type RenderedRequest,
  recordedRequest,
} from '../requests/recorded.ts'
import type { Services } from '../services.ts'
import { recordUsage, type SessionUsage, sessionUsage, type UsageResult } from '../usage.ts'

const requestsSchema = z.strictObject({
  /** The id of the last request on the previous page. */
  after: nameSchema.optional(),
  /** The id of the last request on the previous page of a list that is backward. */
  before: nameSchema.optional(),
  /** `backward`: newest first. Default: oldest first. */
  order: z.enum(['forward', 'backward']).default('forward'),
  /** Maximum number of requests per page. Default 100. */
  limit: z.int().positive().max(10_000).default(100),
})
/** Options of `requests.list`. */
export type ListRequestsOptions = z.input<typeof requestsSchema>
const requestKeySchema = z.union([
  nameSchema.transform((id) => ({ id })),
  z.strictObject({ answer: z.union([nameSchema, z.int().positive()]) }),
])
/** The first and last position of an answer. */
const answerPositionsSchema = z
  .tuple([z.int().positive(), z.int().positive()])
  .refine(([first, last]) => first <= last, 'must be the first and the last position')

/** Requests that were sent, and what providers billed for them. */
export class Requests {
  readonly #services: Services

  /** @internal */
  constructor(services: Services) {
    this.#services = services
  }

  /**
   * Lists the requests that `recordResponse`, the middleware and the adapters recorded in a session, oldest first, or with `order:
   * 'backward'` newest first. A page has up to `limit` (default 100) requests; for the next page, pass the last `id` as `after`, or
   * backward, as `before`. Throws `SESSION_NOT_FOUND`, and `REQUEST_NOT_FOUND` if `after` or `before` isn't a
   * request of this session.
   */
  async list(sessionId: string, options: ListRequestsOptions = {}): Promise<RecordedRequest[]> {
    const id = checkId(sessionId)
    const query = check(requestsSchema, options, 'requests.list')
    const stored = await this.#services.context.storage.requests(id, query)
    const priceOf = stored.some(({ billed }) => billed !== undefined) ? await listPrices() : undefined
    return stored.map((one) => recordedRequest(id, one, priceOf))
  }

  /**
   * Returns a recorded request: what the model was sent. `request` is its id, or `{ answer }` with the id or position of a message that it
   * produced. The messages aren't stored: they are rendered again from the view at that moment, and compared with the hash of what was
   * sent. `matches` is whether the bytes are the same, and `reason` is why they aren't.
   *
   * Throws `REQUEST_NOT_FOUND`, also for a message whose request wasn't recorded, and `MESSAGE_NOT_FOUND` for an unknown message id.
   */
  async get(
    sessionId: string,
    request: string | { readonly answer: string | number },
  ): Promise<RenderedRequest> {
    const id = checkId(sessionId)
    const key = check(requestKeySchema, request, 'requests.get: request')
    return (await readRenderedRequest(this.#services.context, id, key)).request
  }

  /**
   * Compares a recorded request with the one that was recorded before it in the session, or with the one in `with`: where the provider's
   * prompt cache ends, why, and how many tokens the provider could have read from its cache but didn't. Both requests are rendered again,
   * as `requests.get` does, and compared as text. Only `request` and `causes: ['first']` are returned for the first request of a session.
   *
   * Throws `SESSION_NOT_FOUND`, `REQUEST_NOT_FOUND`, and `INVALID_INPUT` if the request in `with` wasn't recorded before.
   */
  async compare(
    sessionId: string,
    requestId: string,
    options: CompareRequestsOptions = {},
  ): Promise<RequestComparison> {
    const id = checkId(sessionId)
    const request = check(nameSchema, requestId, 'requests.compare: requestId')
    const { with: earlier } = check(compareSchema, options, 'requests.compare')
    return compareRequests(this.#services.context, id, request, earlier)
  }

  /**
   * Records the usage that a provider reported for a request, so that figures become exact. Call it after each answer, before or after the
   * answer is appended. The report is kept with the view it belongs to (`getContextStats` builds on it until the view changes by anything
   * but appends), and it adjusts the ratio of the model, which all sessions share. Billed tokens are added up (`requests.usage`), even if
   * the view of the report no longer exists.
   *
   * A report of more than twice, or less than half, of the expected tokens counts only as that limit until the next report confirms it. A
   * report of less than half of the estimate (after the model's ratio) can't cover the whole request: the result and the event
   * `usageWarning` report this, and no figure is adjusted. A report above a limit that was learned from an overflow removes that limit.
   * Reports of 0 tokens are ignored.
   *
   * `request` is the result of `prepareRequest`; pass it if you store answers with something other than `recordResponse`. The request is
   * then recorded for `requests.get`, and `requests.recordAnswer` adds the positions of the answer once it is stored. If the provider
   * reported no usage, leave `inputTokens` out: the request is still recorded, because reasoning may be bound to it.
   */
  async recordUsage(sessionId: string, usage: UsageReportInput): Promise<UsageResult> {
    const id = checkId(sessionId)
    const { request: given, ...report } = readable('requests.recordUsage', () => ({ ...usage }))
    const request = check(requestSchema.optional(), given, 'requests.recordUsage: request')
    if (request !== undefined && request.sessionId !== id)
      throw invalid('requests.recordUsage: the request belongs to another session')
    const isUnreported = request !== undefined && report.inputTokens === undefined
    const figures = isUnreported ? { ...report, inputTokens: 0 } : report
    const checked = check(usageSchema, withRequestNames(figures), 'requests.recordUsage')
    const result = await recordUsage(this.#services.context, id, checked, {
      isReported: !isUnreported,
      requestOf: (billed) =>
        request && newRequest(request, billed, undefined, this.#services.context.storage.redaction),
    })
    reportChange(this.#services.context, id, request, result.requestId)
    return result
  }

  /**
   * Records the first and last position of a request's answer. Call it if you store answers with something other than `recordResponse`;
   * `requests.get` with `{ answer }` then finds the request. Returns whether the positions were recorded: they are written once, and only
   * for messages appended after the moment of the request.
   *
   * Throws `SESSION_NOT_FOUND`, `REQUEST_NOT_FOUND`, `INVALID_INPUT`.
   */
  async recordAnswer(sessionId: string, requestId: string, answerPositions: PositionRange): Promise<boolean> {
    const id = checkId(sessionId)
    const request = check(nameSchema, requestId, 'requests.recordAnswer: requestId')
    const range = check(answerPositionsSchema, answerPositions, 'requests.recordAnswer: answerPositions')
    return this.#services.context.storage.recordAnswer(id, request, range)
  }

  /**
   * Returns what a session was billed: the tokens that `requests.recordUsage` received, in total and by provider and model; their cost by
   * the list prices of `@pydantic/genai-prices`; and the cost of its summaries by summarizer and model, including failed calls. Costs are
   * in US dollars, or `null` if no price is known.
   */
  async usage(sessionId: string): Promise<SessionUsage> {
    const recorded = await this.#services.context.storage.usage(checkId(sessionId))
    return sessionUsage(recorded, await listPrices())
  }

  /**
   * Returns what requests and compactions cost by day and model, newest day first, for one session or for all sessions that this store
   * sees. The requests are the recorded ones (`requests.list`) whose provider reported usage. The prices are the list prices of
   * `@pydantic/genai-prices`, for a request of the day's average size. Days begin at midnight UTC; `utcOffsetMinutes` is the offset of
   * another time zone.
   *
   * Throws `SESSION_NOT_FOUND`.
   */
  async costs(options: CostsOptions = {}): Promise<Costs> {
    const checked = check(costsSchema, options, 'requests.costs')
    const recorded = await this.#services.context.storage.costs(costsQuery(checked))
    return costsOf(recorded, await listPrices())
  }
}

import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { invalid } from '../../core/errors.ts'
import { unmarkedField, withoutMarks } from '../../core/messages/cache-marks.ts'
import { nameSchema } from '../../core/messages/check.ts'
import { stringifyJson } from '../../core/messages/json.ts'
import { type Message, partsOf } from '../../core/messages/message.ts'
import { effectsOf, type TransitionEvent } from '../../core/model/compaction-events.ts'
import { isTransition } from '../../core/model/moment.ts'
import {
  type FirstRequestChange,
  type RequestDifference,
  requestDifference,
  type SentRequest,
} from '../../core/model/request-difference.ts'
import { toolsAtOnce } from '../../core/rendering/bound-reasoning.ts'
import { cacheLifetimeMs, costOfLost, lostTokens } from '../../core/tokens/cache-loss.ts'
import { listPrices, type PriceOf } from '../../core/tokens/prices.ts'
import { canonicalProvider } from '../../core/tokens/providers.ts'
import { withoutBytes } from '../../storage/records/row-fields.ts'
import type { AuditEntry } from '../../storage/storage.ts'
import type { StoreContext } from '../context.ts'
import { readRenderedRequest } from './read-request.ts'
import type { RenderedRequest } from './recorded.ts'

/* Compares two recorded requests of a session: where the provider's prompt cache was lost between them, and why. */

export const compareSchema = z.strictObject({
  /** The id of the earlier request. Default: the request that was recorded before. */
  with: nameSchema.optional(),
})
/** Options of `requests.compare`. */
export type CompareRequestsOptions = z.input<typeof compareSchema>

/**
 * Why a provider couldn't read its cache, or didn't:
 *
 * - `first`: no request was recorded before.
 * - `model`: another provider or model; each model has its own cache.
 * - `tools`, `system`: other tools, or another system prompt.
 * - `compaction`, `undo`, `rewind`: messages differ, and in between a compaction came into force (or was redone), was undone, or the
 *   conversation was rewound.
 * - `rendering`: messages differ, or may differ, because they were rendered for another provider, with other settings, or by another version
 *   of the renderer.
 * - `changed`: messages differ for another reason: for example, the result of an open call arrived, a text was purged, or the application
 *   changed messages before it sent them.
 * - `expired`: the earlier request is a prefix of the later one, tokens were lost, and more time passed than the provider is certain to keep
 *   its cache.
 * - `unknown`: the same within that time. A provider may drop its cache at any time, and Anthropic finds a cached prefix only within 20
 *   blocks before a mark.
 */
export type CacheCause =
  | 'first'
  | 'model'
  | 'tools'
  | 'system'
  | 'compaction'
  | 'undo'
  | 'rewind'
  | 'rendering'
  | 'changed'
  | 'expired'
  | 'unknown'

/** The result of `requests.compare` for the first request of a session. */
export type UncomparedRequest = {
  readonly request: string
  readonly before?: undefined
  readonly causes: readonly ['first']
}

/** A request compared with an earlier one. */
export type ComparedRequests = {
  readonly request: string
  /** The id of the earlier request. */
  readonly before: string
  /**
   * The length of both requests as text, and of what they share at their beginning, in UTF-16 units. The text consists of lines of JSON:
   * the tools, the system prompt (each empty if there is none), and one line with role and content for each message, without prompt cache
   * marks. If the earlier request is a prefix of this one, all of it is shared.
   */
  readonly length: { readonly before: number; readonly after: number; readonly shared: number }
  /** The first difference that isn't an addition at the end; absent if the earlier request is a prefix of this one. */
  readonly firstChanged?: FirstRequestChange
  /** The number of equal messages at the beginning, and of all messages of both requests. */
  readonly messages: { readonly same: number; readonly before: number; readonly after: number }
  /** Whether both are compared as they were sent. Otherwise at least one is compared as it can be rendered now (`requests.get`). */
  readonly matches: boolean
  /** Why the cache couldn't be read, or wasn't; empty if the earlier request is a prefix of this one and nothing was lost. */
  readonly causes: readonly CacheCause[]
  /**
   * The ids of the compactions that came into force, were undone or redone between the moments of the two requests, in that order. Previews
   * of large outputs aren't included, because they are as old as their messages.
   */
  readonly compactionIds: readonly string[]
  /** The time between the records of the two answers, in milliseconds. */
  readonly elapsedMs: number
  /**
   * The tokens that the provider could have read from its cache and did not, and what they cost more than a cache read, in US dollars by
   * list prices, `null` if no price is known. Absent if nothing was lost, or if neither usage report says anything about caching.
   *
   * The provider held what the earlier request read and wrote. Providers that cache every request (OpenAI, Azure, Gemini, DeepSeek) and
   * report no writes held its whole input, from 1,024 tokens on (Gemini: 4,096); for them, fewer than 256 tokens aren't a loss, because they
   * read whole blocks. More than this request's whole input is never lost.
   */
  readonly lost?: { readonly tokens: number; readonly cost: number | null }
}

/** Where and why the provider's prompt cache was lost between two requests. */
export type RequestComparison = UncomparedRequest | ComparedRequests

/** Compares a recorded request with an earlier one. Throws `REQUEST_NOT_FOUND`, and `INVALID_INPUT` if the other one isn't earlier. */
export async function compareRequests(
  context: StoreContext,
  sessionId: string,
  requestId: string,
  earlier: string | undefined,
): Promise<RequestComparison> {
  const { storage } = context
  const id =
    earlier ?? (await storage.requests(sessionId, { before: requestId, order: 'backward', limit: 1 }))[0]?.id
  const after = await readRenderedRequest(context, sessionId, { id: requestId })
  if (id === undefined) return { request: requestId, causes: ['first'] }
  const before = await readRenderedRequest(context, sessionId, { id })
  if (before.no >= after.no)
    throw invalid('requests.compare: options.with must be a request that was recorded before the other one')
  const events = await compactionEvents(context, sessionId, before.request.audit, after.request.audit)
  return comparedRequests(before.request, after.request, events, await listPrices())
}

const PAGE = 1_000

/** Reads the events of compactions after an entry of the audit, up to another one. */
async function compactionEvents(
  { storage }: StoreContext,
  sessionId: string,
  after: number,
  last: number,
): Promise<TransitionEvent[]> {
  const events: TransitionEvent[] = []
  for (let from = after; from < last; ) {
    const page = await storage.auditLog(sessionId, { after: from, limit: Math.min(PAGE, last - from) })
    for (const entry of page) {
      const event = entry.no <= last ? eventOf(entry) : undefined
      if (event === undefined) continue
      // Only its coverage says that a compaction made by hand is a rewind.
      const mayRewind =
        event.event === 'redone' || (event.event === 'created' && entry.detail?.kind === 'manual')
      const [known] =
        mayRewind && !event.isConsequence ? await storage.compactions(sessionId, { id: event.id }) : []
      events.push({ ...event, isRewind: known?.coverage.rewinds === true })
    }
    from = page.at(-1)?.no ?? last
  }
  return events
}

function eventOf({ event, compactionId, detail }: AuditEntry): TransitionEvent | undefined {
  if (compactionId === undefined || !isTransition(event)) return undefined
  return {
    id: compactionId,
    event,
    isPreview: event === 'created' && detail?.kind === 'preview',
    isRewind: false,
    isConsequence: typeof detail?.rewind === 'string',
  }
}

/** Compares two requests of a session. `events`: what happened to its compactions in between. Pure. */
function comparedRequests(
  before: RenderedRequest,
  after: RenderedRequest,
  events: readonly TransitionEvent[],
  priceOf: PriceOf,
): ComparedRequests {
  const { changed, ...difference } = requestDifference(sentRequest(before), sentRequest(after), lineOf)
  const { compactionIds, causes } = effectsOf(events)
  const tokens = lostTokens(before, after) ?? 0
  return {
    request: after.id,
    before: before.id,
    ...difference,
    matches: before.matches && after.matches,
    causes: causesOf(before, after, { changed, ofCompactions: causes, tokens }),
    compactionIds,
    elapsedMs: after.at - before.at,
    ...(tokens > 0 && { lost: { tokens, cost: costOfLost(after, tokens, priceOf) } }),
  }
}

type Evidence = {
  readonly changed: RequestDifference['changed']
  readonly ofCompactions: readonly CacheCause[]
  /** The lost tokens. */
  readonly tokens: number
}

function causesOf(before: RenderedRequest, after: RenderedRequest, evidence: Evidence): CacheCause[] {
  const { changed, ofCompactions, tokens } = evidence
  const ofSettings: readonly (CacheCause | false)[] = [
    !isSameModel(before, after) && 'model',
    changed.tools && 'tools',
    changed.system && 'system',
  ]
  const causes = [...ofSettings, ...(changed.messages ? ofMessages() : [])].filter((cause) => cause !== false)
  return causes.length > 0 || tokens === 0 ? causes : [unseenCause(before, after)]

  function ofMessages(): readonly CacheCause[] {
    if (!isSameRendering(before, after)) return [...ofCompactions, 'rendering']
    return ofCompactions.length > 0 || leftOutReasoning(after) ? ofCompactions : ['changed']
  }
}

/** Returns why tokens were lost between two requests of which the earlier one is, as rendered, a prefix of the later one. */
function unseenCause(before: RenderedRequest, after: RenderedRequest): CacheCause {
  // What was sent isn't known. A request that was redacted is: it differs at most within the redacted texts.
  if (!isKnown(before) || !isKnown(after)) return isSameRendering(before, after) ? 'changed' : 'rendering'
  return after.at - before.at > cacheLifetimeMs(before) ? 'expired' : 'unknown'
}

function isKnown({ matches, reason }: RenderedRequest): boolean {
  return matches || reason === 'redacted'
}

function isSameModel(before: RenderedRequest, after: RenderedRequest): boolean {
  return isSameProvider(before, after) && before.model === after.model
}

function isSameProvider(before: RenderedRequest, after: RenderedRequest): boolean {
  return canonicalProvider(before.provider) === canonicalProvider(after.provider)
}

function isSameRendering(before: RenderedRequest, after: RenderedRequest): boolean {
  const settings = ({ rendering: { provider: _, ...rest } }: RenderedRequest) => rest
  return (
    isSameProvider(before, after) &&
    before.renderer === after.renderer &&
    isDeepStrictEqual(settings(before), settings(after))
  )
}

/** Returns whether a request left out reasoning because other tools or another system prompt precede it. */
function leftOutReasoning({ changed }: RenderedRequest): boolean {
  return changed !== undefined && changed.invalidatedReasoning.blocks > 0
}

function sentRequest({ tools, system, messages }: RenderedRequest): SentRequest {
  const sent = toolsAtOnce(tools)
  return {
    tools: sent.length === 0 ? '' : stringifyJson(sent),
    system: system === undefined ? '' : stringifyJson(system),
    messages,
  }
}

/** Returns role and content of a message as a line of JSON, with base64 in place of bytes and without prompt cache marks. */
function lineOf({ role, content }: Pick<Message, 'role' | 'content'>): string {
  const plain = withoutBytes(partsOf({ content })).content
  const isUnmarked = withoutMarks(plain) === plain
  const sent = { role, content: plain }
  return isUnmarked ? stringifyJson(sent) : JSON.stringify(sent, unmarkedField)
}

import { lostTokens } from '../../core/tokens/cache-loss.ts'
import type { AuditEntry, Compaction } from '../../storage/storage.ts'
import type { RecordedRequest } from '../../store/requests/recorded.ts'

/* What the list of requests says of each, from the list and the audit alone. */

/** What happened to the view between a request and the one before it. */
export type ViewEvent = 'compaction' | 'rewind' | 'undo' | 'redo'

/** A request in the list. */
export type ListedRequest = {
  readonly request: RecordedRequest
  /** Its number in the session: 1 is the oldest. */
  readonly no: number
  readonly before: readonly ViewEvent[]
  /** Tokens that the provider could have read from its cache and did not; 0 if they are few. */
  readonly lostTokens: number
}

const EVENTS: { readonly [event: string]: ViewEvent } = {
  created: 'compaction',
  undone: 'undo',
  redone: 'redo',
}

/** Smaller losses aren't marked in the list. */
const MIN_LOST_TOKENS = 1_024
const MIN_LOST_SHARE = 0.1

/**
 * Returns the requests, oldest first, with what happened before each. Previews aren't counted: they shorten tool outputs as they are
 * appended, and change nothing that was sent.
 */
export function listedRequests(
  requests: readonly RecordedRequest[],
  audit: readonly AuditEntry[],
  compactions: readonly Pick<Compaction, 'id' | 'kind' | 'coverage'>[],
): ListedRequest[] {
  const previews = new Set(compactions.flatMap(({ id, kind }) => (kind === 'preview' ? [id] : [])))
  const rewinds = new Set(compactions.flatMap(({ id, coverage }) => (coverage.rewinds === true ? [id] : [])))
  const entries = audit.flatMap(({ no, event, compactionId }) => {
    const name = EVENTS[event]
    if (name === undefined || compactionId === undefined || previews.has(compactionId)) return []
    return [{ no, name: name === 'compaction' && rewinds.has(compactionId) ? 'rewind' : name } as const]
  })
  let [at, reached] = [0, 0]
  return requests.map((request, index) => {
    const before = new Set<ViewEvent>()
    for (; at < entries.length && entries[at]!.no <= request.audit; at++)
      if (entries[at]!.no > reached) before.add(entries[at]!.name)
    reached = Math.max(reached, request.audit)
    return {
      request,
      no: index + 1,
      before: [...before],
      lostTokens: notableLoss(requests[index - 1], request),
    }
  })
}

/** Returns the tokens that `requests.compare` counts as lost, if they are more than a small part of the request. */
export function notableLoss(before: RecordedRequest | undefined, request: RecordedRequest): number {
  const input = inputOf(request)
  if (before === undefined || input === undefined) return 0
  const lost = lostTokens(before, request) ?? 0
  return lost >= Math.max(MIN_LOST_TOKENS, sumOf(input) * MIN_LOST_SHARE) ? lost : 0
}

/** Returns the request whose answer contains a position; where answers overlap, the one that ends first. */
export function requestOfAnswer(
  requests: readonly RecordedRequest[],
  position: number,
): RecordedRequest | undefined {
  let found: RecordedRequest | undefined
  for (const request of requests) {
    const { answerPositions: range } = request
    if (range === undefined || position < range[0] || position > range[1]) continue
    if (found === undefined || range[1] < found.answerPositions![1]) found = request
  }
  return found
}

/** The input of a request by how it was billed. */
type InputTokens = { readonly read: number; readonly written: number; readonly uncached: number }

export function inputOf({ usage }: Pick<RecordedRequest, 'usage'>): InputTokens | undefined {
  if (usage === undefined) return undefined
  const { inputTokens, cacheReadTokens = 0, cacheCreationTokens = 0 } = usage
  return { read: cacheReadTokens, written: cacheCreationTokens, uncached: inputTokens }
}

export function sumOf({ read, written, uncached }: InputTokens): number {
  return read + written + uncached
}

/** Returns what is kept of a list that is read again, and what to read from: the newest may have changed since. */
export function keptPages<T>(items: readonly T[], overlap: number): readonly T[] {
  return items.slice(0, Math.max(0, items.length - overlap))
}

/** The rows of a list of equal heights that are in sight, with some more on both sides. */
export function rowsInSight(
  { top, height }: { readonly top: number; readonly height: number },
  rowHeight: number,
  count: number,
  margin = 8,
): { readonly from: number; readonly to: number } {
  const first = Math.min(Math.floor(top / rowHeight), Math.max(0, count - 1))
  const last = Math.ceil((top + height) / rowHeight)
  return { from: Math.max(0, first - margin), to: Math.min(count, last + margin) }
}

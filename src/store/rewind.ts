import { createHash } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import { z } from 'zod'
import { invalid, isUndertextError, UndertextError } from '../core/errors.ts'
import { check, newNameSchema, readable, taken } from '../core/messages/check.ts'
import { canonicalJson, type Json, jsonProblem } from '../core/messages/json.ts'
import type { NewMessage, ViewMessage } from '../core/messages/message.ts'
import { checkMessages } from '../core/messages/message-check.ts'
import { unwrapped } from '../storage/also.ts'
import type {
  Also,
  AppendedMessage,
  Previewing,
  RewindPoint,
  RewindRequest,
  Rewound,
  Session,
  TurnUse,
} from '../storage/storage.ts'
import { recordAppended } from './append.ts'
import {
  alsoSchema,
  authorshipSchema,
  type Cause,
  causeSchema,
  messageSchema,
} from './config/store-options.ts'
import type { StoreContext } from './context.ts'
import type { ReasoningChange } from './requests/reasoning.ts'
import { withReasoningChange } from './requests.ts'

/** The point of a rewind: before the first message, after the last one, or before a given one. */
const rewindPointSchema = z.union(
  [z.enum(['start', 'end']), z.strictObject({ beforeMessage: messageSchema })],
  "must be 'start', 'end' or { beforeMessage }",
)
/** `from` and `append` may be functions, so their results are checked separately. */
const rewindSchema = z.strictObject({
  from: z.unknown(),
  append: z.unknown().optional(),
  keepCompactions: z.boolean().default(false),
  showRetired: z.boolean().default(false),
  expectedPosition: z.int().nonnegative().optional(),
  operationId: newNameSchema.optional(),
  operationBody: z
    .custom<Json>((value) => jsonProblem(value) === undefined, 'must be a JSON value')
    .optional(),
  params: causeSchema.optional(),
  also: alsoSchema.optional(),
  ...authorshipSchema.shape,
})

/** The point to which a conversation is rewound, and the messages that continue it from there. */
export type RewindOptions = {
  /**
   * The point to rewind to: `'start'` (before everything), `'end'` (nothing is rewound), or `{ beforeMessage }` (an id or a position): just
   * before that message was appended, whether hidden or not. A summary or a marker stands for the first message it replaces. A function
   * receives the view and returns one of its rows; it is called again if the session changes before the rewind is written. If it throws,
   * the rewind rejects with that error.
   */
  readonly from: RewindPoint | ((view: readonly ViewMessage[]) => RewindPoint)
  /**
   * Whether compactions that lie entirely before that message stay as they are, including later ones. If so, a summary or a marker in the
   * view is hidden as a row, `'start'` hides what is visible, and nothing that was undone is redone. Default false: the view becomes what
   * it was just before that message.
   */
  readonly keepCompactions?: boolean | undefined
  /**
   * Whether messages are shown even if retention removed something of them. Otherwise the rewind throws `CONTENT_RETIRED` if it undoes a
   * compaction that hid such messages.
   */
  readonly showRetired?: boolean | undefined
  /** Messages to append in the same transaction. A function receives the rows that are hidden. */
  readonly append?:
    | readonly NewMessage[]
    | ((hidden: readonly ViewMessage[]) => readonly NewMessage[])
    | undefined
  /** The position that the caller believes is the last. */
  readonly expectedPosition?: number | undefined
  /** The caller's id of this rewind: a repeated call does nothing and returns the result of the first. */
  readonly operationId?: string | undefined
  /** Distinguishes the operation from another with the same id. Default: `from` and `append`, which then can't be functions. */
  readonly operationBody?: Json | undefined
  readonly actor?: string | undefined
  readonly reason?: string | undefined
  /** Which program rewinds, and why, as codes of that program, stored in the compaction's `params`. */
  readonly params?: Cause | undefined
  /** Writes rows of the application in the same transaction, as for `append`. Not called if the operation was already done. */
  readonly also?: Also | undefined
}

/** The result of a rewind. */
export type RewindResult = {
  readonly sessionId: string
  /** The compaction of kind `manual` that hides the rows; absent if nothing was hidden. */
  readonly compactionId?: string
  readonly rowsHidden: number
  /** One entry per appended message, in order. */
  readonly messages: readonly AppendedMessage[]
  /** The session's last position. */
  readonly position: number
  /** Whether the operation was already done, so that this call did nothing. */
  readonly existing: boolean
}

type Request = Pick<RewindOptions, 'from' | 'append'>
type FixedRequest = { readonly from: RewindPoint; readonly append?: readonly NewMessage[] }
type Decision = Pick<RewindRequest, 'from' | 'append' | 'madeFor'> & { readonly session: Session | undefined }

/**
 * Maximum number of times that the caller's functions are called: once more each time another writer was faster. Never reached in practice.
 */
const MAX_DECISIONS = 100

/** `Store.rewind`, for a checked id. */
export async function rewind(
  context: StoreContext,
  sessionId: string,
  options: RewindOptions,
  previewing: Previewing,
  turn?: TurnUse,
): Promise<RewindResult & ReasoningChange> {
  const { storage } = context
  const checked = check(rewindSchema, options, 'rewind')
  const {
    operationId,
    operationBody,
    expectedPosition,
    keepCompactions,
    showRetired,
    actor,
    reason,
    params,
    also,
    ...given
  } = checked
  const request = readable('rewind', () => taken(given)) as Request
  const body = operationBody ?? bodyOf(request, operationId, keepCompactions)
  const operation = operationId === undefined ? undefined : { id: operationId, digest: digestOf(body) }

  const once = async (): Promise<{ readonly done: Rewound; readonly append: readonly NewMessage[] }> => {
    const known = operation && (await storage.rewound(sessionId, operation))
    if (known !== undefined) return { done: known, append: [] }
    const { session, ...decision } = await decide(context, sessionId, request)
    const full: RewindRequest = {
      ...decision,
      keepCompactions,
      showRetired,
      expectedPosition,
      operation,
      params,
      also,
      compactionId: uuidv7(),
      run: { runId: uuidv7(), trigger: 'manual', actor, reason },
      provider: context.modelFor(session).key,
      turn,
    }
    try {
      return { done: await storage.rewind(sessionId, full, previewing), append: decision.append }
    } catch (error) {
      if (!(error instanceof RangeError)) throw unwrapped(error)
      throw invalid('rewind: a message is too long for a JavaScript string')
    }
  }

  const work = async (): Promise<RewindResult> => {
    const { done, append } = isFixed(request) ? await once() : await untilCurrent(context, sessionId, once)
    const { compactionId, rowsHidden, messages, existing } = done
    if (!existing) await recordAppended(context, sessionId, append, messages)
    const last = existing ? undefined : messages.at(-1)
    const position = last?.position ?? (await storage.session(sessionId))?.messageCount ?? 0
    return {
      sessionId,
      ...(compactionId !== undefined && { compactionId }),
      rowsHidden,
      messages,
      position,
      existing,
    }
  }
  // Nothing is hidden, so nothing changes for existing messages.
  if (request.from === 'end') return work()
  return withReasoningChange(
    context,
    sessionId,
    ({ compactionId, existing }) => compactionId !== undefined && !existing,
    work,
  )
}

/** Calls `once` again while its decision is out of date. If the session didn't change, the decision itself is wrong, and it throws. */
async function untilCurrent<T>(
  { storage }: StoreContext,
  sessionId: string,
  once: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const before = await storage.session(sessionId)
    try {
      return await once()
    } catch (error) {
      if (!isUndertextError(error, 'STALE_PLAN') || attempt === MAX_DECISIONS) throw error
      const now = await storage.session(sessionId)
      if (now?.incarnation === before?.incarnation && now?.version === before?.version) throw error
    }
  }
}

/** Reads the session before its view, so that a change in between changes the version. */
async function decide({ storage }: StoreContext, sessionId: string, request: Request): Promise<Decision> {
  if (isFixed(request)) {
    const fixed = { from: pointOf(request.from), append: messagesOf(request.append), madeFor: undefined }
    return { ...fixed, session: await storage.session(sessionId) }
  }
  const session = await storage.session(sessionId)
  const view = session === undefined ? [] : await storage.view(sessionId, false)
  const from = pointOf(typeof request.from === 'function' ? request.from(view) : request.from)
  const hidden = view.slice(indexOf(sessionId, view, from))
  const append = messagesOf(typeof request.append === 'function' ? request.append(hidden) : request.append)
  return { from, append, madeFor: session ?? null, session }
}

function isFixed(request: Request): request is FixedRequest {
  return typeof request.from !== 'function' && typeof request.append !== 'function'
}

function pointOf(from: unknown): RewindPoint {
  return check(rewindPointSchema, from, 'rewind: from')
}

/** Checks and copies the messages: the caller may change its own while other work is awaited. */
function messagesOf(append: unknown): readonly NewMessage[] {
  return readable('append', () => {
    if (append === undefined || (Array.isArray(append) && append.length === 0)) return []
    checkMessages(append, 'append')
    return taken(append)
  })
}

function indexOf(sessionId: string, view: readonly ViewMessage[], from: RewindPoint): number {
  if (from === 'start') return 0
  if (from === 'end') return view.length
  const index = view.findIndex(
    ({ id, position }) => from.beforeMessage === id || from.beforeMessage === position,
  )
  if (index !== -1) return index
  throw new UndertextError('STALE_PLAN', {
    sessionId,
    why: "it isn't visible",
    messageIds: [String(from.beforeMessage)],
  })
}

/** Returns the body of an operation for which the caller gives none. */
function bodyOf(request: Request, operationId: string | undefined, keepCompactions: boolean): unknown {
  if (operationId === undefined) return undefined
  if (!isFixed(request))
    throw invalid(
      'rewind: operationBody is required if operationId is given and from or append is a function',
    )
  const body = [pointOf(request.from), messagesOf(request.append)]
  return keepCompactions ? [...body, { keepCompactions }] : body
}

/** Operations are compared by digest, because a body may be large. */
function digestOf(body: unknown): string {
  return createHash('sha256').update(canonicalJson(body)).digest('base64')
}

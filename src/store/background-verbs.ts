import { createHash } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import { Background } from '../compaction/background/background.ts'
import type { CompactionResult } from '../compaction/result.ts'
import type { ContextStats } from '../compaction/stats.ts'
import { readCall } from '../config/layers.ts'
import { resolveModel } from '../config/model.ts'
import {
  type CloseOptions,
  type CompactOptions,
  closeSchema,
  type IdleOptions,
  idleSchema,
  type ListJobsOptions,
  listJobsSchema,
  rewindPointSchema,
  rewindSchema,
} from '../config/store-options.ts'
import { invalid, isUndertextError, UndertextError } from '../errors.ts'
import { check, taken } from '../messages/check.ts'
import { canonicalJson, type Json } from '../messages/json.ts'
import type { NewMessage, ViewMessage } from '../messages/message.ts'
import { checkMessages } from '../messages/message-check.ts'
import type {
  AppendedMessage,
  Job,
  JobState,
  RewindPoint,
  RewindRequest,
  Rewound,
  Session,
  Storage,
} from '../storage/storage.ts'
import type { StoreSettings } from './base.ts'
import { checkId } from './check-arguments.ts'
import { LogVerbs } from './log-verbs.ts'

/** What is taken back, and what is said instead. */
export type RewindOptions = {
  /**
   * Where to go back to: `'start'` (before everything), `'end'` (nothing is rewound), or `{ messageId }`: just before that
   * message was appended, hidden or not. A summary or a marker names the first message it replaces. A function receives the view,
   * names a row of it, and is called again when somebody changes the session before it is written; what it throws ends the verb.
   */
  readonly from: RewindPoint | ((view: readonly ViewMessage[]) => RewindPoint)
  /**
   * Whether compactions that lie entirely before that message stay as they are, those made after it included. Then a summary or a
   * marker of the view is hidden as a row, `'start'` hides what is visible, and nothing that was undone is redone. Default: no,
   * the view before that message is as it was.
   */
  readonly keepCompactions?: boolean | undefined
  /** Appended after it, in the same transaction. A function is given the rows that are hidden. */
  readonly append?:
    | readonly NewMessage[]
    | ((hidden: readonly ViewMessage[]) => readonly NewMessage[])
    | undefined
  /** The position the caller believes is last. */
  readonly expectedPosition?: number | undefined
  /** The caller's id of this rewind: the same again does nothing and answers what the first did. */
  readonly operationId?: string | undefined
  /** What the operation is, to tell it from another with the same id. Default: `from` and `append`, which may be no functions then. */
  readonly operationBody?: Json | undefined
  readonly actor?: string | undefined
  readonly reason?: string | undefined
}

/** What a rewind did. */
export type RewindResult = {
  readonly sessionId: string
  /** The compaction of kind `manual` that hides; absent when nothing was hidden. */
  readonly compactionId?: string
  readonly rowsHidden: number
  /** One entry an appended message, in order. */
  readonly messages: readonly AppendedMessage[]
  /** The session's last position. */
  readonly position: number
  /** Whether the operation was known, so that nothing was done. */
  readonly existing: boolean
}

/** Taking back what was said last. */
class RewindVerbs<S extends Storage> extends LogVerbs<S> {
  /**
   * Takes back the end of a conversation, and says something else instead if need be: restores the view as it was just before a
   * message was appended, as one compaction of kind `manual`, and appends messages; one transaction. What others call clear, pop,
   * regenerate, edit or replace is this. Compactions made since are lifted, those undone since are redone. Nothing is destroyed:
   * `undoCompaction` restores the view, and the compactions, as they were before the rewind.
   *
   * System messages, pinned rows, summaries and calls that wait are hidden too: they are taken back, not made room of. A call
   * may lose its result this way; it then waits again. Rows that are hidden keep their ids and give their idempotency keys free.
   * With something to append the session is made if need be.
   *
   * Throws `INVALID_INPUT`, `SESSION_NOT_FOUND` when nothing is appended or a row is named, `MESSAGE_NOT_FOUND`,
   * `STALE_PLAN` when a function names a row that is not visible or others will not stop changing the session,
   * `POSITION_CONFLICT`, `OPERATION_CONFLICT` for an operation id that was used for another rewind, and what `append`
   * throws.
   */
  async rewind(sessionId: string, options: RewindOptions): Promise<RewindResult> {
    const id = checkId(sessionId)
    const { operationId, operationBody, expectedPosition, keepCompactions, actor, reason, ...given } = check(
      rewindSchema,
      options,
      'rewind',
    )
    const request = taken(given) as Request
    const body = operationBody ?? bodyOf(request, operationId, keepCompactions)
    const operation = operationId === undefined ? undefined : { id: operationId, digest: digestOf(body) }
    const once = async (): Promise<{ readonly done: Rewound; readonly append: readonly NewMessage[] }> => {
      const known = operation && (await this.storage.rewound(id, operation))
      if (known !== undefined) return { done: known, append: [] }
      const { session, ...decided } = await this.#decide(id, request)
      const wanted = { ...decided, keepCompactions, expectedPosition, operation }
      return {
        done: await this.#commit(id, session, wanted, { actor, reason }),
        append: decided.append,
      }
    }
    const { done, append } = isFixed(request) ? await once() : await this.#askedAgain(id, once)
    if (!done.existing) await this.recordAppended(id, append, done.messages)
    const last = done.messages.at(-1)
    const isNew = last !== undefined && !done.existing
    const position = isNew ? last.position : ((await this.storage.session(id))?.messageCount ?? 0)
    const { compactionId, rowsHidden, messages, existing } = done
    const compaction = compactionId === undefined ? {} : { compactionId }
    return { sessionId: id, ...compaction, rowsHidden, messages, position, existing }
  }

  /** Asks functions again when their answers went stale. What is stale though nothing changed is their mistake, and told at once. */
  async #askedAgain<T>(id: string, once: () => Promise<T>): Promise<T> {
    for (let asked = 1; ; asked++) {
      const before = await this.storage.session(id)
      try {
        return await once()
      } catch (error) {
        if (!isUndertextError(error, 'STALE_PLAN') || asked === MOST_DECISIONS) throw error
        const now = await this.storage.session(id)
        if (now?.incarnation === before?.incarnation && now?.version === before?.version) throw error
      }
    }
  }

  /** What is asked for now. The session is read before its view, so that whatever is changed in between shows in its version. */
  async #decide(id: string, request: Request): Promise<Decision> {
    if (isFixed(request)) {
      const decided = { from: pointOf(request.from), append: messagesOf(request.append), madeFor: undefined }
      return { ...decided, session: await this.storage.session(id) }
    }
    const session = await this.storage.session(id)
    const view = session === undefined ? [] : await this.storage.view(id, false)
    const from = pointOf(typeof request.from === 'function' ? request.from(view) : request.from)
    const hidden = view.slice(indexOf(id, view, from))
    const append = messagesOf(typeof request.append === 'function' ? request.append(hidden) : request.append)
    return { from, append, madeFor: session ?? null, session }
  }

  async #commit(
    id: string,
    session: Session | undefined,
    wanted: Omit<RewindRequest, 'compactionId' | 'run' | 'provider'>,
    authorship: Pick<RewindRequest['run'], 'actor' | 'reason'>,
  ): Promise<Rewound> {
    const provider = resolveModel(session && this.configuration.modelOf(session), undefined, undefined).key
    const run = { runId: uuidv7(), trigger: 'manual' as const, ...authorship }
    const request = { ...wanted, compactionId: uuidv7(), run, provider }
    try {
      return await this.storage.rewind(id, request, this.previewing)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      throw invalid('rewind: a message is larger than a text can be')
    }
  }
}

type Request = Pick<RewindOptions, 'from' | 'append'>
type Decision = Pick<RewindRequest, 'from' | 'append' | 'madeFor'> & { readonly session: Session | undefined }

/** How often a function is asked again: every time somebody else got ahead, so few are enough. */
const MOST_DECISIONS = 100

function isFixed(request: Request): request is { from: RewindPoint; append?: readonly NewMessage[] } {
  return typeof request.from !== 'function' && typeof request.append !== 'function'
}

function pointOf(from: unknown): RewindPoint {
  return check(rewindPointSchema, from, 'rewind: from')
}

function messagesOf(append: unknown): readonly NewMessage[] {
  if (append === undefined || (Array.isArray(append) && append.length === 0)) return []
  checkMessages(append, 'append')
  // Other work is awaited before they are written: what was checked is what is stored.
  return taken(append)
}

/** Where a point stands in a view. */
function indexOf(sessionId: string, view: readonly ViewMessage[], from: RewindPoint): number {
  if (from === 'start') return 0
  if (from === 'end') return view.length
  const index = view.findIndex(({ id }) => id === from.messageId)
  if (index !== -1) return index
  throw new UndertextError('STALE_PLAN', {
    sessionId,
    why: 'it is not visible',
    messageIds: [from.messageId],
  })
}

/** What an operation is, when its caller does not say: what is taken back and what is said instead. */
function bodyOf(request: Request, operationId: string | undefined, keepCompactions: boolean): unknown {
  if (operationId === undefined) return undefined
  if (!isFixed(request))
    throw invalid('rewind: operationBody must be given with an operationId and functions')
  const body = [pointOf(request.from), messagesOf(request.append)]
  return keepCompactions ? [...body, { keepCompactions }] : body
}

/** Enough to tell one operation from another; the operation itself may be large. */
function digestOf(body: unknown): string {
  return createHash('sha256').update(canonicalJson(body)).digest('base64')
}

/** Compaction behind the conversation's back. */
export class BackgroundVerbs<S extends Storage> extends RewindVerbs<S> {
  readonly #background: Background

  constructor(storage: S, settings: StoreSettings) {
    super(storage, settings)
    const { configuration, events, guard, compact } = this
    this.#background = new Background({ storage, configuration, events, guard, compact })
  }

  /**
   * Queues a compaction and answers at once; nobody waits for it but `whenIdle`. A session has one open job at most: while there is
   * one, that is answered, and it stays as it was asked for. Settings of the call that are plain data are stored with the job; a
   * summarizer and stages of one's own count as long as this store is open. The run counts as unasked (`trigger: 'auto'`); a
   * `signal` cancels it.
   *
   * Throws `SESSION_NOT_FOUND`, `CIRCUIT_OPEN`, `ABORTED`.
   */
  async compactInBackground(
    sessionId: string,
    config: CompactOptions = {},
  ): Promise<{ readonly jobId: string; readonly state: JobState }> {
    const id = checkId(sessionId)
    const call = readCall(config, 'compactInBackground')
    if (call.trigger !== undefined && call.trigger !== 'auto')
      throw invalid('compactInBackground: trigger can only be "auto"')
    const job = await this.#background.start(await this.requireSession(id), call)
    return { jobId: job.id, state: job.state }
  }

  /** A session's jobs, newest first, at most `limit` (100); the last hundred are kept. */
  async listJobs(sessionId: string, options: ListJobsOptions = {}): Promise<Job[]> {
    const { limit } = check(listJobsSchema, options, 'listJobs')
    return this.storage.jobs.list(checkId(sessionId), limit)
  }

  /** One job. Throws `JOB_NOT_FOUND`. */
  async getJob(jobId: string): Promise<Job> {
    const job = await this.storage.jobs.job(checkId(jobId, 'jobId'))
    if (job === undefined) throw new UndertextError('JOB_NOT_FOUND', { jobId })
    return job
  }

  /**
   * Waits until no job of the session runs or is due, and takes up what a process that died left; without a session: until this
   * store works at nothing, and nothing is due. A job that waits for a later time (its next try, a limit) is not waited for.
   * Answers false when `timeoutMs` passed before. Throws `ABORTED` after the signal; `sessionId` of that is empty without one.
   */
  async whenIdle(sessionId?: string, options: IdleOptions = {}): Promise<boolean> {
    const limits = check(idleSchema, options, 'whenIdle')
    return this.#background.whenIdle(sessionId === undefined ? undefined : checkId(sessionId), limits)
  }

  /**
   * Cancels a job by its id, or the open job of a session: the model's call is aborted, nothing is changed, and what was paid is on
   * record. A job another process works at is marked, so that its commit is refused. Answers the job, or `null` when none was open.
   * Throws `SESSION_NOT_FOUND` for what is neither a job nor a session.
   */
  async cancel(sessionOrJobId: string): Promise<Job | null> {
    const target = checkId(sessionOrJobId, 'sessionOrJobId')
    const cancelled = await this.#background.cancel(target)
    if (cancelled !== undefined) return cancelled
    if ((await this.storage.jobs.job(target)) === undefined) await this.requireSession(target)
    return null
  }

  /**
   * Closes the store; a connection that was handed in stays open. Closing twice is nothing. Runs in the background are waited for
   * as long as `timeoutMs` says (0); what is not over then is aborted, changes nothing, and stays queued for the next process.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    const { timeoutMs } = check(closeSchema, options, 'close')
    const ending = this.#background.close(timeoutMs)
    if (ending !== undefined) await ending
    await this.storage.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Lets the background know how full a session is: above the soft threshold it goes to work. Never waits, never throws. */
  protected offerBackground(sessionId: string, stats: ContextStats): void {
    this.#background.offer(sessionId, stats)
  }

  /** Waits for a background run of the session, so many milliseconds at most. Returns its result, where this store made it. */
  protected settleBackground(
    sessionId: string,
    waitMs: number,
    signal?: AbortSignal,
  ): Promise<CompactionResult | null> {
    return this.#background.settle(sessionId, waitMs, signal)
  }

  /** Ends what is at work on a session that was purged. */
  protected forgetBackground(sessionId: string): void {
    this.#background.forget(sessionId)
  }
}

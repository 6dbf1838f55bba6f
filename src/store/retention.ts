import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { decodeCursor, encodeCursor } from '../core/cursor.ts'
import { invalid, UndertextError } from '../core/errors.ts'
import { check, nameSchema, ownerOption } from '../core/messages/check.ts'
import { sessionRemoval } from '../core/retention/plan.ts'
import { isEmptyRetention, type ResolvedRetention, retentionSchema } from '../core/retention/rules.ts'
import { isSubagent } from '../core/retention/subagent.ts'
import { CONTENT_CLASSES, type ContentClass } from '../core/retention/tombstone.ts'
import { liveRuns } from '../storage/process.ts'
import {
  type ListedSession,
  RETENTION_PHASES,
  type Retention,
  type RetentionPlace,
  type RetentionRequest,
  type RetentionStep,
  type Session,
  type Storage,
} from '../storage/storage.ts'
import { unlessUnknown } from './arguments.ts'
import { authorshipSchema, timeSchema } from './config/store-options.ts'
import { found, type StoreContext } from './context.ts'
import { abandonedImports, newLease, stagedName } from './history/import/staging.ts'

const applySchema = z
  .strictObject({
    /** Whether to only count what would be removed. */
    dryRun: z.boolean().default(false),
    /** Rules that precede those of the store; those of a session precede both. */
    rules: retentionSchema.optional(),
    /** Only sessions of this owner. */
    owner: ownerOption,
    /** Only these sessions. */
    sessions: z.array(nameSchema).min(1).max(100_000).readonly().optional(),
    /** Milliseconds after which the call returns at the end of a step; the result then has a `cursor`. Default: no limit. */
    budgetMs: z.int().positive().optional(),
    /** The place where an earlier call with the same options stopped. */
    cursor: z.string().max(10_000).optional(),
    /** The time to which ages are compared. Default: now. */
    now: timeSchema.optional(),
    /**
     * Whether the files are rewritten at the end, so that nothing of the removed content can be read from them. This blocks writers for as
     * long as it takes. Otherwise the next `sessions.purge` or `privacy.purgeText` does it.
     */
    clearFiles: z.boolean().default(false),
    signal: z.instanceof(AbortSignal).optional(),
    ...authorshipSchema.shape,
  })
  .refine(({ owner, sessions }) => owner === undefined || sessions === undefined, {
    path: ['sessions'],
    message: 'cannot be combined with owner',
  })

/** Options of `privacy.applyRetention`. */
export type RetentionOptions = z.input<typeof applySchema>
type CheckedOptions = z.output<typeof applySchema>

/** What was removed of a class of content in messages, or would be. */
export type RetainedContent = {
  readonly sessions: number
  readonly rows: number
  readonly parts: number
  /** The size of the removed parts as they were stored. */
  readonly bytes: number
}

/** What was removed by rules about whole sessions, or would be. */
export type RetainedSessions = { readonly sessions: number; readonly messages: number }

/** The result of `privacy.applyRetention`. */
export type RetentionReport = {
  readonly dryRun: boolean
  /** Whether all sessions were looked at. If not, `cursor` continues. */
  readonly isComplete: boolean
  readonly cursor?: string
  /** The number of sessions that were looked at. */
  readonly sessions: number
  readonly content: { readonly [C in ContentClass]: RetainedContent }
  readonly subagents: RetainedSessions
  readonly archived: RetainedSessions
  readonly requests: { readonly sessions: number; readonly requests: number }
  readonly audit: { readonly sessions: number; readonly entries: number }
  /** The sessions that stay although a rule names them by age: their forks need their messages, or one of their messages is pinned. */
  readonly kept: { readonly withForks: number; readonly pinned: number }
  /** Present if removed content can still be found in the store's files, which are cleared later. */
  readonly filesCleared?: false
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends object ? Mutable<T[K]> : T[K] }
type Report = Mutable<Omit<RetentionReport, 'dryRun' | 'isComplete' | 'cursor' | 'filesCleared'>>

function emptyReport(): Report {
  const content = CONTENT_CLASSES.map((name) => [name, { sessions: 0, rows: 0, parts: 0, bytes: 0 }] as const)
  return {
    sessions: 0,
    content: Object.fromEntries(content) as Report['content'],
    subagents: { sessions: 0, messages: 0 },
    archived: { sessions: 0, messages: 0 },
    requests: { sessions: 0, requests: 0 },
    audit: { sessions: 0, entries: 0 },
    kept: { withForks: 0, pinned: 0 },
  }
}

const ownerOfPlace = nameSchema.nullable()
/** Where the next call continues: after a session of the list, and within the one after it. */
const cursorSchema = z.strictObject({
  archived: z.boolean(),
  after: z.strictObject({ id: nameSchema, newestAt: z.int(), owner: ownerOfPlace }).optional(),
  /** With `sessions`, the number of those that are done. */
  done: z.int().nonnegative().optional(),
  /** The session within which to continue. */
  incarnation: z.string().max(100).optional(),
  place: z.strictObject({ phase: z.enum(RETENTION_PHASES), after: z.int().nonnegative() }).optional(),
})
type Cursor = z.output<typeof cursorSchema>

const START: RetentionPlace = { phase: 'messages', after: 0 }
/** The number of sessions that are listed, and of rows of a removed session that are deleted, at a time. */
const [SESSIONS_AT_ONCE, ROWS_AT_ONCE] = [200, 100]
/** The longest pause after a step, in milliseconds. */
const MAX_PAUSE_MS = 50

/** See `Privacy.applyRetention`. */
export async function applyRetention(
  context: StoreContext,
  options: RetentionOptions,
): Promise<RetentionReport> {
  const checked = check(applySchema, options, 'privacy.applyRetention')
  const { dryRun, cursor, clearFiles, signal } = checked
  const from = cursor === undefined ? undefined : decodeCursor(cursorSchema, cursor)
  if (cursor !== undefined && from === undefined)
    throw invalid('privacy.applyRetention: cursor must be one that a result of this method has')
  if (signal?.aborted) throw new UndertextError('ABORTED', { sessionId: from?.after?.id ?? '' })
  const run = new RetentionRun(context, checked)
  if (!dryRun) await run.discardRemains()
  const next = await run.apply(from ?? { archived: false })
  const { storage } = context
  const mayRemain = !dryRun && (run.hasRemoved || cursor !== undefined)
  const isCleared =
    next === undefined && clearFiles && !dryRun ? await storage.removals.clearFiles() : !mayRemain
  return {
    dryRun,
    isComplete: next === undefined,
    ...(next !== undefined && { cursor: encodeCursor(next) }),
    ...run.report,
    ...(!isCleared && { filesCleared: false }),
  }
}

/** One call. */
class RetentionRun {
  readonly report = emptyReport()
  hasRemoved = false
  readonly #context: StoreContext
  readonly #storage: Storage
  readonly #options: CheckedOptions
  readonly #now: number
  readonly #deadline: number

  constructor(context: StoreContext, options: CheckedOptions) {
    this.#context = context
    this.#storage = context.storageOf(options.owner)
    this.#options = options
    this.#now = options.now ?? Date.now()
    this.#deadline = performance.now() + (options.budgetMs ?? Number.POSITIVE_INFINITY)
  }

  /** Removes what is left of sessions whose removal was interrupted. */
  async discardRemains(): Promise<void> {
    for (const id of await abandonedImports(this.#storage)) await this.#discard(id)
  }

  /** Applies the rules from a place on; returns the place where to continue, `undefined` at the end. */
  async apply(from: Cursor): Promise<Cursor | undefined> {
    const { sessions } = this.#options
    const next =
      sessions === undefined ? await this.#applyToList(from) : await this.#applyToNamed(sessions, from)
    while (!this.#options.dryRun && !this.#isOver && (await this.#storage.retention.release()))
      await this.#pause(1)
    return next
  }

  get #isOver(): boolean {
    return performance.now() >= this.#deadline || this.#options.signal?.aborted === true
  }

  async #applyToNamed(ids: readonly string[], from: Cursor): Promise<Cursor | undefined> {
    for (const [done, id] of ids.entries()) {
      if (done < (from.done ?? 0)) continue
      const session = found(await this.#storage.session(id), id)
      const place = await this.#applyTo(
        session,
        session.updatedAt,
        done === from.done ? from.place : undefined,
      )
      if (typeof place === 'object') return { archived: false, done, place }
      if (this.#isOver && done + 1 < ids.length) return { archived: false, done: done + 1 }
    }
    return undefined
  }

  async #applyToList(from: Cursor): Promise<Cursor | undefined> {
    for (const archived of from.archived ? [true] : [false, true]) {
      let after = archived === from.archived ? from.after : undefined
      for (;;) {
        const page = await this.#page(archived, after)
        for (const session of page) {
          const { id, owner = null, newestAt, incarnation } = session
          const isNext = from.incarnation === incarnation
          const place = await this.#applyTo(session, newestAt, isNext ? from.place : undefined)
          if (typeof place === 'object') return { archived, ...(after && { after }), incarnation, place }
          // The list continues after a session that still exists.
          if (place === 'done') after = { id, newestAt, owner }
          if (this.#isOver) return { archived, ...(after && { after }) }
        }
        if (page.length < SESSIONS_AT_ONCE) break
      }
    }
    return undefined
  }

  /** Returns a page of the list. If the session before it was removed meanwhile, it begins again: what is done isn't done twice. */
  async #page(archived: boolean, after: Cursor['after']): Promise<readonly ListedSession[]> {
    const query = { archived, limit: SESSIONS_AT_ONCE }
    const place = after && { ...after, owner: after.owner ?? undefined }
    const page = await unlessUnknown(() => this.#storage.listSessions({ ...query, after: place }))
    return page ?? this.#storage.listSessions(query)
  }

  /** Applies the rules to a session; returns the place where to continue if the time is over. */
  async #applyTo(
    session: Session,
    newestAt: number,
    from = START,
  ): Promise<RetentionPlace | 'done' | 'removed'> {
    // Several owners may have a session with this id.
    const { retention } = this.#storage.seenBy(session.owner ?? null)
    const rules = this.#rulesOf(session.config)
    this.report.sessions += 1
    if (isEmptyRetention(rules)) return 'done'
    if (await this.#removeWhole(retention, session, newestAt, rules))
      return this.#options.dryRun ? 'done' : 'removed'
    const seen = new Set<string>()
    for (let place: RetentionPlace | undefined = from; place !== undefined; ) {
      const began = performance.now()
      const request: RetentionRequest = { rulesOf: this.#rulesOf, from: place, now: this.#now, ...this.#how }
      const step: RetentionStep | undefined = await unlessUnknown(() => retention.step(session.id, request))
      // Purged meanwhile.
      if (step === undefined) return 'removed'
      if (this.#count(step, seen) && !this.#options.dryRun) await this.#storage.retention.release()
      place = step.next
      // After a step, so that every call gets on, however short its time is.
      if (place !== undefined && this.#isOver) return place
      await this.#pause(performance.now() - began)
    }
    return 'done'
  }

  readonly #rulesOf = (config: Session['config']): ResolvedRetention =>
    this.#context.configuration.retentionOf(config, this.#options.rules)

  get #how() {
    const { dryRun, actor, reason } = this.#options
    return { dryRun, actor, reason }
  }

  /** Removes a session as a whole if a rule says so; returns whether it did, or would. */
  async #removeWhole(
    retention: Retention,
    session: Session,
    newestAt: number,
    rules: ResolvedRetention,
  ): Promise<boolean> {
    const facts = { isSubagent: isSubagent(session.metadata), newestAt, archivedAt: session.archivedAt }
    const rule = sessionRemoval(rules, facts, this.#now, false)
    if (rule === undefined) return false
    const pinned = sessionRemoval(rules, facts, this.#now, true) === rule
    const id = stagedName()
    liveRuns.add(id)
    try {
      const { incarnation, version } = session
      const request = { rule, pinned, incarnation, version, ...this.#how, staged: { id, ...newLease() } }
      const verdict = await unlessUnknown(() => retention.retire(session.id, request))
      if (verdict === undefined) return true
      if ('stays' in verdict) {
        if (verdict.stays === 'forks') this.report.kept.withForks += 1
        if (verdict.stays === 'pinned') this.report.kept.pinned += 1
        return false
      }
      this.report[rule].sessions += 1
      this.report[rule].messages += verdict.messages
      if (this.#options.dryRun) return true
      this.hasRemoved = true
      await this.#discard(id)
      return true
    } finally {
      liveRuns.delete(id)
    }
  }

  async #discard(id: string): Promise<void> {
    this.hasRemoved = true
    for (;;) {
      const began = performance.now()
      const isGone = await this.#storage.retention.discard(id, ROWS_AT_ONCE)
      await this.#storage.retention.release()
      if (isGone) return
      await this.#pause(performance.now() - began)
    }
  }

  /** Adds a step to the report; returns whether anything was removed. `seen`: the classes that the session is counted for. */
  #count(step: RetentionStep, seen: Set<string>): boolean {
    const { report } = this
    const once = (name: string): number => {
      if (seen.has(name)) return 0
      seen.add(name)
      return 1
    }
    for (const name of CONTENT_CLASSES) {
      const found = step.content[name]
      if (found === undefined) continue
      const sum = report.content[name]
      sum.sessions += once(name)
      sum.rows += found.rows
      sum.parts += found.parts
      sum.bytes += found.bytes
    }
    if (step.requests > 0) report.requests.sessions += once('requests')
    if (step.audit > 0) report.audit.sessions += once('audit')
    report.requests.requests += step.requests
    report.audit.entries += step.audit
    const hasFound = Object.keys(step.content).length > 0 || step.requests > 0 || step.audit > 0
    if (hasFound && !this.#options.dryRun) this.hasRemoved = true
    return hasFound
  }

  /** Lets others write for as long as the last step took: a writer of another process tries again only now and then. */
  #pause(tookMs: number): Promise<void> {
    return delay(Math.min(MAX_PAUSE_MS, Math.ceil(tookMs)))
  }
}

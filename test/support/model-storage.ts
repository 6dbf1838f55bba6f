import { isUndertextError, UndertextError } from '../../src/core/errors.ts'
import { previewsOf } from '../../src/core/files/tool-output/message-previews.ts'
import { canonicalJson, type JsonObject } from '../../src/core/messages/json.ts'
import {
  isSilent,
  type NewMessage,
  type Part,
  partsOf,
  type StoredMessage,
  type ToolCallPart,
  type ToolResultPart,
  type ViewMessage,
} from '../../src/core/messages/message.ts'
import { containsRow, coverageOf, NO_ROWS } from '../../src/core/model/coverage.ts'
import type { ExpandedRow, ExpandedSummary } from '../../src/core/model/expansion.ts'
import { checkLaws, checkStale, rebasePlan } from '../../src/core/model/laws.ts'
import { indexMessage } from '../../src/core/model/message-parts.ts'
import {
  applyPlan,
  contentOf,
  isCondensing,
  type PlannedInsert,
  planRewind,
  pointingAfter,
  reopenedReasoning,
  restoredPart,
  savedBy,
} from '../../src/core/model/plan.ts'
import {
  describeCall,
  describePair,
  findCall,
  pairCalls,
  statusOf,
  type ToolCall,
  type ToolOutput,
  type ToolRow,
  withoutOtherIds,
} from '../../src/core/model/tool-calls.ts'
import { View } from '../../src/core/model/view.ts'
import type { ViewRow } from '../../src/core/model/view-row.ts'
import { NOTHING_LEARNED, type Readings } from '../../src/core/tokens/calibration.ts'
import type { Estimator } from '../../src/core/tokens/estimators/estimator-schema.ts'
import {
  addSizes,
  measureMessage,
  measurePart,
  NO_SIZES,
  neurolinkEstimator,
  type Sizes,
  tokensOf,
} from '../../src/core/tokens/measure.ts'
import { isSeen, type Seen } from '../../src/storage/owners.ts'
import type {
  Appended,
  AppendedMessage,
  AppendPreview,
  Compaction,
  FinishedImport,
  Histories,
  ImportInProgress,
  KnownMessage,
  ListedSession,
  MessageCounts,
  NamedLimit,
  NewImport,
  Past,
  Previewing,
  ReasoningRecord,
  RecordedUsage,
  Removals,
  Retention,
  RewindOperation,
  RewindPoint,
  RewindRequest,
  Rewound,
  RunCommit,
  Searching,
  Session,
  SessionPoint,
  SessionStats,
  SessionTest,
  Snapshot,
  SourceQuery,
  Storage,
  ToolCallQuery,
  TurnUse,
  UndoOutcome,
  UndoRequest,
  UndoWhileOutcome,
  UndoWhileRequest,
  UsageOutcome,
  UsageReport,
} from '../../src/storage/storage.ts'
import { ModelJobs } from './model-jobs.ts'
import { ModelNotes } from './model-notes.ts'
import { ModelReadings } from './model-readings.ts'
import { ModelTurns } from './model-turns.ts'
import {
  indexView,
  isVisible,
  type LogCompaction,
  type LogRow,
  liftedIn,
  projectView,
  redoIn,
  type SessionLog,
  tagsOf,
  undoIn,
} from './session-log.ts'

/** The time of the last message of a log, at most that of the session's last change. */
function newestIn({ session, log }: Pick<Stored, 'session' | 'log'>): number {
  const last = log.rows.findLast(({ position }) => position !== undefined)
  return last === undefined ? 0 : Math.min(session.updatedAt, last.createdAt)
}

type Stored = {
  session: Session
  log: SessionLog
  facts: Map<string, Partial<Compaction>>
  /** The idempotency key of every row that came with one. */
  keyOf: Map<number, string>
  audit: number
  /** The time of the newest message, at most the time at which it was stored. */
  newestAt: number
  /** The last undo of each run as a whole. */
  runUndos: Map<string, number>
  /** The compactions in force just before each message was appended, by position. */
  inForceBefore: Map<number, ReadonlySet<number>>
  /** The last position of the append that made a preview, by the preview's number. */
  previewedAt: Map<number, number>
  /** Rewinds that came under an id. */
  operations: Map<string, { digest: string; done: Rewound }>
}

/** Whether a row is hidden by hand, or the row that stands for it is. */
function isTakenBack(log: SessionLog, row: LogRow): boolean {
  const { condenseParent, truncationParent } = tagsOf(log, row)
  const hiding = condenseParent ?? truncationParent
  if (hiding === undefined) return false
  if (log.compactions.some(({ no, kind }) => no === hiding && kind === 'manual')) return true
  const standing = log.rows.find(({ insertedBy }) => insertedBy === hiding)
  return standing !== undefined && isTakenBack(log, standing)
}

function isSameSaid(row: LogRow, message: NewMessage): boolean {
  return isSameBody(message.content.length === 0 ? row : { ...row, metadata: message.metadata }, message)
}

function isSameBody(row: Pick<LogRow, 'role' | 'content' | 'metadata'>, message: NewMessage): boolean {
  const bodies = [row, message].map(({ role, content, metadata }) =>
    canonicalJson([role, content, metadata ?? null]),
  )
  return bodies[0] === bodies[1]
}

/**
 * The port spelled with the definitions of `session-log.ts`: the whole log in memory, everything worked out anew
 * at every call. Slow, obvious, and the measure for every real storage.
 */
export class ModelStorage implements Storage {
  readonly #estimator: Estimator
  readonly #sessions = new Map<string, Stored>()
  readonly #readings: ModelReadings
  /** Who brings them in, by the ids of sessions on their way. */
  readonly #imports = new Map<string, Pick<NewImport, 'holder' | 'expiresAt'>>()
  readonly jobs = new ModelJobs((id) => this.session(id))
  readonly circuits = this.jobs
  /** The model keeps no audit, so it has no past. */
  readonly past: Past = new Proxy({} as Past, {
    get: (_, verb) => {
      throw new Error(`the model keeps no past: ${String(verb)}`)
    },
  })

  readonly notes = new ModelNotes(
    (id) => this.#require(id).session,
    (id, messageId) => this.requireMessages(id, [messageId]),
  )
  readonly turns = new ModelTurns(
    (id) => this.#counted(this.#require(id)).messageCount,
    (id, callId) => this.toolOutput(id, callId, undefined),
  )
  /** The model keeps no audit, so it has no whole histories to give or to take. */
  /** Nor an index. */
  readonly searching: Searching = new Proxy({} as Searching, {
    get: (_, verb) => () => {
      if (verb === 'unindexed') return []
      throw new Error(`the model does not search: ${String(verb)}`)
    },
  })
  readonly retention: Retention = new Proxy({} as Retention, {
    get: (_, verb) => () => {
      throw new Error(`the model retains everything: ${String(verb)}`)
    },
  })
  readonly removals: Removals = new Proxy({} as Removals, {
    get: (_, verb) => () => {
      throw new Error(`the model removes no texts: ${String(verb)}`)
    },
  })
  readonly owned: Storage['owned'] = new Proxy({} as Storage['owned'], {
    get: (_, verb) => () => {
      throw new Error(`the model erases no owner: ${String(verb)}`)
    },
  })
  readonly histories: Histories = new Proxy({} as Histories, {
    get: (_, verb) => () => {
      throw new Error(`the model keeps no histories: ${String(verb)}`)
    },
  })
  /** The owner whose sessions are seen by the call in progress: the model is synchronous. */
  #seen: Seen

  seenBy(seen: string | null): ModelStorage {
    const during = <T extends object>(target: T): T =>
      new Proxy(target, {
        get: (_, key) => {
          const value: unknown = Reflect.get(target, key, target)
          if (typeof value === 'object' && value !== null) return during(value)
          if (typeof value !== 'function') return value
          return (...given: unknown[]) => {
            const before = this.#seen
            this.#seen = seen
            try {
              return value.apply(target, given)
            } finally {
              this.#seen = before
            }
          }
        },
      })
    return during(this)
  }

  #closed = false
  #incarnations = 0
  #nextKey = 1
  #nextNo = 1

  constructor(estimator: Estimator = neurolinkEstimator) {
    this.#estimator = estimator
    this.#readings = new ModelReadings(estimator)
  }

  createSession(id: string, fields: Parameters<Storage['createSession']>[1], name: string): Session {
    this.#open()
    if (this.#sessions.has(id)) throw new UndertextError('SESSION_EXISTS', { sessionId: id })
    const now = Date.now()
    const session: Session = {
      id,
      incarnation: `model${this.#incarnations++}-${now}`,
      owner: (this.#seen === undefined ? fields.owner : this.#seen) ?? undefined,
      title: fields.title ?? undefined,
      provider: fields.provider ?? undefined,
      model: fields.model ?? undefined,
      config: fields.config ?? undefined,
      metadata: fields.metadata ?? undefined,
      estimator: name,
      createdAt: now,
      updatedAt: now,
      archivedAt: undefined,
      messageCount: 0,
      visibleCount: 0,
      visibleSizes: NO_SIZES,
      hidden: { condensed: 0, truncated: 0, manual: 0 },
      activeCompactions: 0,
      undoneAutomatic: 0,
      version: 0,
      viewEpoch: 0,
    }
    this.#sessions.set(id, {
      session,
      log: { rows: [], compactions: [] },
      facts: new Map(),
      keyOf: new Map(),
      audit: 0,
      newestAt: 0,
      runUndos: new Map(),
      inForceBefore: new Map(),
      previewedAt: new Map(),
      operations: new Map(),
    })
    return session
  }

  beginImport({ id, fields, estimator, holder, expiresAt, incarnations }: NewImport): Session {
    this.createSession(id, fields, estimator)
    const stored = this.#sessions.get(id)!
    const taken = new Set([...this.#sessions.values()].map(({ session }) => session.incarnation))
    const incarnation = incarnations?.find((one) => !taken.has(one))
    if (incarnation !== undefined) stored.session = { ...stored.session, incarnation }
    this.#imports.set(id, { holder, expiresAt })
    return this.#counted(stored)
  }

  finishImport(importId: string, id: string, published: FinishedImport): Session {
    if (!this.#imports.has(importId)) throw new UndertextError('SESSION_NOT_FOUND', { sessionId: importId })
    if (this.#sessions.has(id)) throw new UndertextError('SESSION_EXISTS', { sessionId: id })
    const { fields, createdAt, updatedAt, audit } = published
    if (fields !== undefined) this.updateSession(importId, fields)
    const stored = this.#require(importId)
    stored.session = {
      ...stored.session,
      id,
      createdAt: createdAt ?? stored.session.createdAt,
      updatedAt: updatedAt ?? stored.session.updatedAt,
    }
    stored.newestAt = newestIn(stored)
    if (audit !== undefined) stored.audit += 1
    const all = [...this.#sessions].map(([name, one]) => [name === importId ? id : name, one] as const)
    this.#sessions.clear()
    for (const [name, one] of all) this.#sessions.set(name, one)
    this.#imports.delete(importId)
    return this.#counted(stored)
  }

  discardImport(importId: string, rows: number): boolean {
    this.#open()
    if (!this.#imports.has(importId)) return true
    const stored = this.#require(importId)
    if (stored.log.rows.length >= rows) {
      stored.log = { ...stored.log, rows: stored.log.rows.slice(0, stored.log.rows.length - rows) }
      return false
    }
    this.#sessions.delete(importId)
    this.#imports.delete(importId)
    return true
  }

  importsInProgress(): ImportInProgress[] {
    this.#open()
    return [...this.#imports].map(([id, lease]) => ({ id, ...lease }))
  }

  knownMessages(id: string, messages: readonly NewMessage[]): (KnownMessage | undefined)[] {
    const { log, keyOf } = this.#require(id)
    return messages.map((message) => {
      const { idempotencyKey } = message
      if (idempotencyKey === undefined) return undefined
      const row = log.rows.findLast(({ key }) => keyOf.get(key) === idempotencyKey)
      return row && { position: row.position!, same: isSameSaid(row, message) }
    })
  }

  present(id: string): SessionPoint | undefined {
    const session = this.session(id)
    return session && { incarnation: session.incarnation, version: session.version, audit: 0 }
  }

  /** The model keeps no requests either. */
  recordRequest(): undefined {}

  recordAnswer(): boolean {
    return false
  }

  /** It keeps neither requests nor an audit: to it all reasoning is valid. */
  reasoning(): ReasoningRecord {
    return {
      ...{ isWhole: true, answers: [], open: [] },
      ...{ turnings: [], touches: new Map(), onlyReasoning: new Set<number>(), unknownTo: 0 },
    }
  }

  cutParts(id: string): Map<number, number[]> {
    const { log } = this.#require(id)
    const cuts = new Set(log.compactions.filter(({ kind }) => kind === 'cut').map(({ no }) => no))
    return new Map(
      projectView(log).flatMap(({ row, tags }) => {
        const parts = [...tags.shown]
          .filter(([, { compaction }]) => cuts.has(compaction))
          .map(([part]) => part)
        return parts.length === 0 || row.position === undefined ? [] : [[row.position, parts] as const]
      }),
    )
  }

  costs(): never {
    throw new Error('the model keeps no requests')
  }

  requests(): never {
    throw new Error('the model keeps no requests')
  }

  request(): never {
    throw new Error('the model keeps no requests')
  }

  stats(id: string, provider: string, model: string): SessionStats | undefined {
    const figures = this.session(id)
    return figures && { figures, readings: this.readings(id, provider, model) }
  }

  session(id: string): Session | undefined {
    this.#open()
    const stored = this.#sessions.get(id)
    return stored && isSeen(this.#seen, stored.session) ? this.#counted(stored) : undefined
  }

  listSessions({ archived, limit, after, search }: Parameters<Storage['listSessions']>[0]): ListedSession[] {
    this.#open()
    if (after !== undefined) this.#require(after.id)
    const listed = [...this.#sessions].filter(([id]) => !this.#imports.has(id))
    // Sorting is stable, so among equal times the last inserted stays first.
    const all = listed
      .map(([, stored]) => ({ ...this.#counted(stored), newestAt: stored.newestAt }))
      .reverse()
      .sort((a, b) => b.newestAt - a.newestAt)
    const place = all.findIndex(({ id }) => id === after?.id)
    return all
      .filter(({ newestAt }, at) => {
        if (after === undefined) return true
        if (after.newestAt === undefined) return at > place
        const age = (nth: number): number => listed.findIndex(([id]) => id === all[nth]!.id)
        return newestAt < after.newestAt || (newestAt === after.newestAt && age(at) < age(place))
      })
      .filter(
        (session) =>
          (session.archivedAt !== undefined) === archived &&
          isSeen(this.#seen, session) &&
          (search === undefined ||
            [session.id, session.title ?? ''].some((text) =>
              text.toLowerCase().includes(search.toLowerCase()),
            )),
      )
      .slice(0, limit)
  }

  countMessages(id: string): MessageCounts {
    const { log } = this.#require(id)
    const said = log.rows.filter((row) => !isSilent(row))
    const messages = said.filter(({ position }) => position !== undefined).length
    const all = log.rows.filter(({ position }) => position !== undefined).length
    const visible = said.filter((row) => isVisible(tagsOf(log, row))).length
    return { messages, bookkeeping: all - messages, visible }
  }

  estimatorNames(): string[] {
    return [...new Set([...this.#sessions.values()].map(({ session }) => session.estimator))]
  }

  newestSession(archived: boolean): string | undefined {
    const [first] = this.listSessions({
      archived,
      limit: 1,
      after: undefined,
      search: undefined,
    })
    return first?.id
  }

  updateSession(id: string, fields: Parameters<Storage['updateSession']>[1]): Session {
    const stored = this.#require(id)
    const before = stored.session
    const changes = Object.entries(fields).filter(([, value]) => value !== undefined)
    stored.session = {
      ...stored.session,
      ...Object.fromEntries(changes.map(([name, value]) => [name, value ?? undefined])),
      updatedAt: Date.now(),
    }
    const { provider, model } = this.#counted(stored)
    if (provider !== before.provider || model !== before.model) this.#moved(stored)
    return this.#counted(stored)
  }

  archiveSession(id: string, archived: boolean): Session {
    const stored = this.#require(id)
    stored.session = {
      ...stored.session,
      archivedAt: archived ? (stored.session.archivedAt ?? Date.now()) : undefined,
    }
    return this.#counted(stored)
  }

  fork(): never {
    throw new Error('the model keeps no forks')
  }

  bringBack(): never {
    throw new Error('the model keeps no forks')
  }

  forks(): never[] {
    return []
  }

  purgeSession(id: string): { messages: number; compactions: number; blobs: number } {
    const { log } = this.#require(id)
    this.#sessions.delete(id)
    this.notes.purgeSession(id)
    this.turns.purgeSession(id)
    const messages = log.rows.filter(({ position }) => position !== undefined).length
    return { messages, compactions: log.compactions.length, blobs: 0 }
  }

  append(
    id: string,
    messages: readonly NewMessage[],
    expected: number | undefined,
    previewing?: Previewing,
    _also?: unknown,
    turn?: TurnUse,
  ): Appended {
    this.#open()
    if (turn !== undefined) return this.#appendFor(turn, id, messages, expected, previewing)
    const isNew = !this.#sessions.has(id)
    if (isNew) this.createSession(id, {}, this.#estimator.name)
    const stored = this.#sessions.get(id)!
    const before = stored.log
    try {
      const appended = this.#appendAll(id, stored, messages, expected)
      const isChanged = appended.some(({ existing }) => !existing)
      if (isChanged) stored.session = { ...stored.session, updatedAt: Date.now() }
      const preview = previewing && this.#preview(stored, messages, appended, previewing)
      if (isChanged) stored.newestAt = newestIn(stored)
      return { messages: appended, ...(preview !== undefined && { preview }) }
    } catch (error) {
      stored.log = before
      if (isNew) this.#sessions.delete(id)
      throw error
    }
  }

  #appendFor(
    turn: TurnUse,
    id: string,
    messages: readonly NewMessage[],
    expected: number | undefined,
    previewing?: Previewing,
  ): Appended {
    try {
      const settle = this.turns.use(id, turn)
      if (settle === undefined) return { messages: [] }
      const appended = this.append(id, messages, expected, previewing)
      settle()
      return appended
    } catch (error) {
      const stored = this.#sessions.get(id)
      const repeated = stored && isUndertextError(error, 'TURN_LOST') && this.#repeated(id, stored, messages)
      if (!repeated) throw error
      return { messages: repeated }
    }
  }

  #appendAll(
    id: string,
    stored: Stored,
    messages: readonly NewMessage[],
    expected: number | undefined,
  ): AppendedMessage[] {
    const actual = this.#counted(stored).messageCount
    if (expected !== undefined && expected !== actual) {
      const repeated = this.#repeated(id, stored, messages)
      if (repeated !== undefined) return repeated
      throw new UndertextError('POSITION_CONFLICT', { sessionId: id, expected, actual })
    }
    return messages.map((message) => {
      const existing = this.#findByKey(id, stored, message)
      if (existing !== undefined) return existing
      const position = stored.log.rows.filter((row) => row.position !== undefined).length + 1
      const own = `${stored.session.incarnation}:`
      if (
        message.id !== undefined &&
        (message.id.startsWith(own) || stored.log.rows.some((row) => row.id === message.id))
      ) {
        throw new UndertextError('MESSAGE_ID_TAKEN', { sessionId: id, messageId: message.id })
      }
      const row: LogRow = {
        key: this.#nextKey++,
        id: message.id ?? `${own}${position}`,
        kind: 'message',
        role: message.role,
        content: structuredClone(message.content),
        metadata: structuredClone(message.metadata),
        createdAt: message.createdAt ?? Date.now(),
        position,
        anchor: position,
        ordinal: 0,
        insertedBy: undefined,
        pinned: false,
      }
      stored.log = { ...stored.log, rows: [...stored.log.rows, row] }
      const active = stored.log.compactions.filter(({ status }) => status === 'active')
      stored.inForceBefore.set(position, new Set(active.map(({ no }) => no)))
      if (message.idempotencyKey !== undefined) {
        stored.keyOf.set(row.key, message.idempotencyKey)
      }
      return { id: row.id, position, existing: false }
    })
  }

  /** One compaction over the large outputs of the messages that were written. It does not move the view epoch. */
  #preview(
    stored: Stored,
    messages: readonly NewMessage[],
    appended: readonly AppendedMessage[],
    { limitsFor, begin }: Previewing,
  ): AppendPreview | undefined {
    const limits = limitsFor(stored.session.config)
    if (limits === undefined) return undefined
    const replacements = messages.flatMap((message, at) => {
      const { position, existing } = appended[at]!
      if (existing) return []
      const { key } = stored.log.rows.find((row) => row.position === position)!
      const { results } = indexMessage({ content: partsOf(message) }, this.#estimator)
      return previewsOf(message, results, limits, this.#estimator).map(({ part, text }) => ({
        key,
        part,
        text,
      }))
    })
    if (replacements.length === 0) return undefined
    const { id, runId, trigger, provider } = begin(stored.session)
    const no = this.#nextNo++
    const coverage = { hidden: NO_ROWS, beside: NO_ROWS, inserted: undefined, openCalls: false }
    const tokensBefore = indexView(stored.log, this.#estimator, provider).tokens
    const compaction: LogCompaction = {
      ...{ no, rank: no, id, run: runId, kind: 'preview', status: 'active', coverage, replacements },
      ...{ requires: [], undoneWithRun: undefined },
    }
    stored.log = { ...stored.log, compactions: [...stored.log.compactions, compaction] }
    stored.previewedAt.set(no, this.#counted(stored).messageCount)
    const tokensAfter = indexView(stored.log, this.#estimator, provider).tokens
    const params = { maxBytes: limits.maxBytes, maxLines: limits.maxLines }
    stored.facts.set(id, { trigger, params, tokensBefore, tokensAfter })
    return {
      compactionId: id,
      runId,
      parts: replacements.length,
      savedTokens: tokensBefore - tokensAfter,
    }
  }

  #repeated(id: string, stored: Stored, messages: readonly NewMessage[]): AppendedMessage[] | undefined {
    try {
      const found = messages.map((message) => this.#findByKey(id, stored, message))
      return messages.length > 0 && found.every((one) => one !== undefined) ? found : undefined
    } catch {
      return undefined
    }
  }

  #findByKey(id: string, stored: Stored, message: NewMessage): AppendedMessage | undefined {
    const { idempotencyKey } = message
    if (idempotencyKey === undefined) return undefined
    const row = stored.log.rows.findLast((candidate) => {
      return stored.keyOf.get(candidate.key) === idempotencyKey && !isTakenBack(stored.log, candidate)
    })
    if (row === undefined) return undefined
    if (!isSameBody(row, message))
      throw new UndertextError('IDEMPOTENCY_CONFLICT', { sessionId: id, idempotencyKey, messageId: row.id })
    return { id: row.id, position: row.position!, existing: true }
  }

  rewind(
    id: string,
    {
      from,
      keepCompactions,
      append,
      expectedPosition,
      operation,
      compactionId,
      run,
      provider,
      turn,
    }: RewindRequest,
    previewing?: Previewing,
  ): Rewound {
    this.#open()
    const settle = turn && this.turns.use(id, turn)
    const known = operation && this.rewound(id, operation)
    if (known !== undefined) return known
    const stored = this.#sessions.get(id)
    if (stored === undefined && (append.length === 0 || typeof from === 'object'))
      throw new UndertextError('SESSION_NOT_FOUND', { sessionId: id })
    const before = stored && { ...stored }
    try {
      const hidden =
        stored === undefined
          ? undefined
          : this.#hideFrom(id, stored, from, expectedPosition, {
              keepCompactions,
              compactionId,
              run,
              provider,
            })
      const appended: Appended =
        append.length === 0 ? { messages: [] } : this.append(id, append, expectedPosition, previewing)
      const done: Rewound = {
        ...appended,
        ...(hidden !== undefined && { compactionId }),
        rowsHidden: hidden ?? 0,
        existing: false,
      }
      if (operation !== undefined)
        this.#sessions.get(id)!.operations.set(operation.id, { digest: operation.digest, done })
      settle?.()
      return done
    } catch (error) {
      if (before !== undefined) this.#sessions.set(id, before)
      throw error
    }
  }

  rewound(id: string, operation: RewindOperation): Rewound | undefined {
    this.#open()
    const known = this.#sessions.get(id)?.operations.get(operation.id)
    if (known === undefined) return undefined
    if (known.digest !== operation.digest)
      throw new UndertextError('OPERATION_CONFLICT', { sessionId: id, operationId: operation.id })
    const { compactionId, rowsHidden, messages } = known.done
    return {
      messages: messages.map((message) => ({ ...message, existing: true })),
      ...(compactionId !== undefined && { compactionId }),
      rowsHidden,
      existing: true,
    }
  }

  /** Answers how many rows were hidden; `undefined` for none. */
  #hideFrom(
    id: string,
    stored: Stored,
    from: RewindPoint,
    expected: number | undefined,
    {
      keepCompactions,
      compactionId,
      run,
      provider,
    }: Pick<RewindRequest, 'keepCompactions' | 'compactionId' | 'run' | 'provider'>,
  ): number | undefined {
    const actual = this.#counted(stored).messageCount
    if (expected !== undefined && expected !== actual)
      throw new UndertextError('POSITION_CONFLICT', { sessionId: id, expected, actual })
    if (from === 'end') return undefined
    const former = indexView(stored.log, this.#estimator, provider)
    if (from === 'start' && former.rows.length === 0) return undefined
    const target =
      typeof from === 'object'
        ? stored.log.rows.find(
            ({ id, position }) => from.beforeMessage === id || from.beforeMessage === position,
          )
        : undefined
    if (typeof from === 'object' && target === undefined)
      throw new UndertextError('MESSAGE_NOT_FOUND', { sessionId: id, messageId: String(from.beforeMessage) })
    const turned = this.#turnedFor(stored, target, keepCompactions, former)
    const lifted = liftedIn(stored.log, turned.lifts, turned.restores)
    stored.log = lifted.log
    const view = indexView(stored.log, this.#estimator, provider)
    const own = turned.isRow ? view.rows.findIndex((row) => row.id === target!.id) : -1
    const index = own === -1 ? view.rows.findIndex(({ anchor }) => anchor >= turned.position) : own
    const pointers = pointingAfter(view, index).flatMap(({ row, copies }) =>
      this.#shownParts(stored, row).filter(({ by }) => by.requires.some(({ key }) => copies.includes(key))),
    )
    const thoughts = reopenedReasoning(view, index).flatMap((row) =>
      this.#shownParts(stored, row).filter(
        ({ part, text, by }) =>
          text === '' &&
          by.coverage.inserted === undefined &&
          partsOf(this.#row(row.key))[part]!.type !== 'tool-result',
      ),
    )
    const restored = [...pointers, ...thoughts].map(({ row, part, saved, preview }) =>
      restoredPart(row, part, saved, preview),
    )
    const plan = planRewind(view, index, restored, keepCompactions)
    const no = this.#nextNo++
    const tokensBefore = former.tokens
    const compaction: LogCompaction = {
      ...{ no, rank: no, id: compactionId, run: run.runId, kind: 'manual', status: 'active' },
      coverage: {
        ...coverageOf(view, plan, undefined),
        ...(lifted.lifts.length > 0 && { lifts: lifted.lifts }),
        ...(lifted.restores.length > 0 && { restores: lifted.restores }),
      },
      turned: { lifted: lifted.lifts, restored: lifted.restores },
      replacements: restored.map(({ row, part, text, original }) => ({
        ...{ key: row.key, part },
        text: original === true ? null : text,
      })),
      requires: [],
      undoneWithRun: undefined,
    }
    stored.log = { ...stored.log, compactions: [...stored.log.compactions, compaction] }
    const tokensAfter = indexView(stored.log, this.#estimator, provider).tokens
    const { trigger, actor, reason } = run
    stored.facts.set(compactionId, {
      trigger,
      params: plan.params,
      actor,
      reason,
      tokensBefore,
      tokensAfter,
    })
    this.#moved(stored)
    return plan.hide.length
  }

  /** Where a rewind goes back to, and what it turns for that: by the sets that were in force, remembered at every append. */
  #turnedFor(
    { log, inForceBefore, previewedAt }: Stored,
    target: LogRow | undefined,
    keeps: boolean,
    former: View,
  ) {
    const active = log.compactions.filter(({ status }) => status === 'active')
    const isRow = keeps && target?.position === undefined && former.rows.some(({ id }) => id === target?.id)
    const position = isRow
      ? target!.anchor + 1
      : target === undefined
        ? 1
        : Math.min(...sourcePositions(log, target))
    if (keeps) {
      const reaches = (one: LogCompaction): boolean =>
        log.rows.some(
          (row) =>
            row.anchor >= position &&
            (containsRow(one.coverage.hidden, row) || one.replacements.some(({ key }) => key === row.key)),
        )
      const lifts = active.filter((one) => target !== undefined && one.kind !== 'preview' && reaches(one))
      return { position, isRow, lifts, restores: [] }
    }
    const then = inForceBefore.get(position) ?? new Set()
    const lifts = active.filter((one) => !then.has(one.no) && (previewedAt.get(one.no) ?? 0) < position)
    const restores = log.compactions.filter(({ no, status }) => status === 'undone' && then.has(no))
    return { position, isRow, lifts, restores }
  }

  /** What a row shows instead of parts: the text, who shows it, and the preview beneath. */
  #shownParts({ log }: Stored, row: ViewRow) {
    const active = log.compactions.filter(({ status }) => status === 'active')
    const textIn = ({ replacements }: LogCompaction, wanted: number) =>
      replacements.find(({ key, part }) => key === row.key && part === wanted)?.text ?? undefined
    return row.shown.map(({ part, compaction }) => {
      const original = partsOf(this.#row(row.key))[part]!
      const savedWith = (text: string): Sizes => {
        const kind = original.type === 'tool-result' ? 'toolResult' : 'text'
        const units = this.#estimator.measureText(text, kind)
        return savedBy(
          measurePart(original, this.#estimator),
          kind === 'text' ? 'text' : 'toolResults',
          units,
        )
      }
      const by = active.find(({ no }) => no === compaction)!
      const text = textIn(by, part)!
      const beneath = active
        .filter(({ no, kind }) => no !== compaction && kind === 'preview')
        .flatMap((one) => textIn(one, part) ?? [])[0]
      const preview = beneath === undefined ? undefined : { text: beneath, saved: savedWith(beneath) }
      return { row, part, text, by, saved: savedWith(text), preview }
    })
  }

  messages(
    id: string,
    { after, before, limit, order, shown, visible }: Parameters<Storage['messages']>[1],
  ): StoredMessage[] {
    const { log, keyOf } = this.#require(id)
    let positions = log.rows.flatMap(({ position }) => position ?? [])
    positions = positions.filter((position) => position > (after ?? 0) && position < (before ?? Infinity))
    if (limit !== undefined)
      positions = order === 'forward' ? positions.slice(0, limit) : positions.slice(-limit)
    const page = new Set(positions)
    const idOf = (no: number | undefined): string | undefined =>
      log.compactions.find((compaction) => compaction.no === no)?.id
    const stored = [...log.rows]
      .filter((row) => page.has(row.anchor) && (visible !== true || isVisible(tagsOf(log, row))))
      .sort((a, b) => a.anchor - b.anchor || a.ordinal - b.ordinal)
      .map((row) => {
        const tags = tagsOf(log, row)
        return clean({
          id: row.id,
          kind: row.kind,
          role: row.role,
          content: structuredClone(row.content),
          metadata: structuredClone(row.metadata),
          anchor: row.anchor,
          position: row.position,
          createdAt: row.createdAt,
          idempotencyKey: keyOf.get(row.key),
          pinned: row.pinned,
          hidden: !isVisible(tags),
          replacedParts: tags.shown.size === 0 ? undefined : [...tags.shown.keys()],
          condenseParent: idOf(tags.condenseParent),
          truncationParent: idOf(tags.truncationParent),
          retiredBy: idOf(tags.retiredBy),
          ...insertedTags(row, idOf(row.insertedBy)),
          shown:
            shown !== true || tags.shown.size === 0
              ? undefined
              : [...tags.shown].map(([part, { text, compaction }]) => ({
                  ...{ part, text },
                  compactionId: idOf(compaction)!,
                })),
        }) as StoredMessage
      })
    return order === 'forward' ? stored : stored.reverse()
  }

  view(id: string, provenance: boolean): ViewMessage[] {
    const { log } = this.#require(id)
    return projectView(log).map(
      ({ row, tags, content }) =>
        clean({
          id: row.id,
          kind: row.kind,
          role: row.role,
          content: structuredClone(content),
          metadata: structuredClone(row.metadata),
          createdAt: row.createdAt,
          position: row.position,
          replacedParts: tags.shown.size === 0 ? undefined : [...tags.shown.keys()],
          ...insertedTags(row, log.compactions.find(({ no }) => no === row.insertedBy)?.id),
          positions: provenance ? ranges(sourcePositions(log, row)) : undefined,
        }) as ViewMessage,
    )
  }

  toolOutput(id: string, callId: string, position: number | undefined): ToolOutput | undefined {
    const { rows, of, provider } = this.#toolRows(id)
    const pair = findCall(
      rows.flatMap((row) => withoutOtherIds(row, (used) => used === callId) ?? []),
      position,
    )
    if (pair === undefined) return undefined
    const { call, result } = pair
    const called = call && of.get(call.row.key)![call.entry.part]
    const answer = result && of.get(result.row.key)![result.entry.part]
    return {
      ...describePair(
        pair,
        statusOf(called as ToolCallPart, answer as ToolResultPart),
        this.#estimator,
        provider,
      ),
      ...(called?.type === 'tool-call' && { input: structuredClone(called.input) }),
      ...(answer?.type === 'tool-result' && { output: structuredClone(answer.output) }),
    }
  }

  toolCalls(id: string, { after, limit }: ToolCallQuery): ToolCall[] {
    const { rows, of, provider } = this.#toolRows(id)
    const calls = pairCalls(rows)
      .calls.map((pair) => {
        const { call, result } = pair
        const called = of.get(call.row.key)![call.entry.part]
        const answer = result && of.get(result.row.key)![result.entry.part]
        const status = statusOf(called as ToolCallPart, answer as ToolResultPart)
        return describeCall(pair, status, this.#estimator, provider)
      })
      .filter(({ call }) => call.position > after)
    const last = calls[limit - 1]?.call.position ?? Number.POSITIVE_INFINITY
    return calls.filter(({ call }) => call.position <= last)
  }

  /** All messages with what they call and answer, and their parts by key. */
  #toolRows(id: string): {
    rows: ToolRow[]
    of: Map<number, readonly Part[]>
    provider: string
  } {
    const { log, session } = this.#require(id)
    const messages = log.rows.filter(({ position }) => position !== undefined)
    const rows = messages.map((row): ToolRow => {
      const tags = tagsOf(log, row)
      const { calls, results } = indexMessage({ content: partsOf(row) }, this.#estimator)
      const shown = [...tags.shown].map(([part, { compaction }]) => ({ part, compaction }))
      return {
        key: row.key,
        messageId: row.id,
        position: row.position!,
        hidden: !isVisible(tags),
        rewoundBy: log.compactions.find(({ no, kind }) => no === tags.truncationParent && kind === 'manual')
          ?.no,
        shown,
        calls,
        results,
      }
    })
    return {
      rows,
      of: new Map(messages.map((row) => [row.key, partsOf(row)] as const)),
      provider: session.provider ?? 'openai',
    }
  }

  expand(id: string, summaryId: string, depth: number): ExpandedSummary {
    const { log } = this.#require(id)
    return this.#expanded(id, log, this.#summaryOf(id, summaryId), depth) as ExpandedSummary
  }

  sources(id: string, summaryId: string, { after, limit }: SourceQuery): StoredMessage[] {
    const positions = sourcePositions(this.#require(id).log, this.#summaryOf(id, summaryId))
    return this.messages(id, { after, before: undefined, limit: undefined, order: 'forward' })
      .filter(({ position }) => position !== undefined && positions.includes(position))
      .slice(0, limit)
  }

  #summaryOf(id: string, summaryId: string): LogRow {
    this.requireMessages(id, [summaryId])
    const row = this.#require(id).log.rows.find((one) => one.id === summaryId)!
    if (row.kind !== 'summary') throw new UndertextError('INVALID_INPUT', { problems: 'no summary' })
    return row
  }

  #expanded(id: string, log: SessionLog, row: LogRow, depth: number): ExpandedRow {
    const { tokensPerConversation } = this.#estimator
    const provider = this.#require(id).session.provider ?? 'openai'
    const tokens = (rows: readonly LogRow[]): number => {
      const sizes = rows.map((one) => measureMessage({ content: partsOf(one) }, this.#estimator))
      const sum = sizes.reduce((all, one) => addSizes(all, one))
      return tokensOf(sum, rows.length, this.#estimator, provider) - tokensPerConversation
    }
    const positions = sourcePositions(log, row).sort((a, b) => a - b)
    const sources = positions.map((position) => log.rows.find((one) => one.position === position)!)
    const times = sources.map(({ createdAt }) => createdAt)
    const own = clean({
      kind: row.kind,
      id: row.id,
      role: row.role,
      content: structuredClone(row.content),
      metadata: structuredClone(row.metadata),
      createdAt: row.createdAt,
      positions: [positions[0]!, positions.at(-1)!],
      times: [Math.min(...times), Math.max(...times)],
      tokens: tokens([row]),
    }) as ExpandedRow
    if (row.kind === 'message') return own
    const compaction = log.compactions.find(({ no }) => no === row.insertedBy)!
    const covered = [...log.rows]
      .filter((one) => containsRow(compaction.coverage.hidden, one))
      .sort((a, b) => a.anchor - b.anchor || a.ordinal - b.ordinal)
    const children = covered.map((one) => this.#expanded(id, log, one, depth - 1))
    const summaries = children.filter((one) => one.kind !== 'message')
    const given = this.#require(id).facts.get(compaction.id)?.params?.level
    return {
      ...own,
      compactionId: compaction.id,
      level: typeof given === 'number' ? given : Math.max(0, ...summaries.map(({ level }) => level)),
      messages: positions.length,
      sourceTokens: tokens(sources),
      descendants: children.length + summaries.reduce((sum, { descendants }) => sum + descendants, 0),
      ...(depth > 0 && { children }),
    } as ExpandedSummary
  }

  requireMessages(id: string, messageIds: readonly string[]): void {
    const { log } = this.#require(id)
    for (const messageId of messageIds) {
      if (!log.rows.some((row) => row.id === messageId))
        throw new UndertextError('MESSAGE_NOT_FOUND', { sessionId: id, messageId })
    }
  }

  pin(id: string, messageIds: readonly string[], pinned: boolean): number {
    this.requireMessages(id, messageIds)
    const stored = this.#require(id)
    const changed = new Set(
      stored.log.rows.filter((row) => messageIds.includes(row.id) && row.pinned !== pinned),
    )
    if (changed.size > 0) {
      const rows = stored.log.rows.map((row) => (changed.has(row) ? { ...row, pinned } : row))
      stored.log = { ...stored.log, rows }
      this.#moved(stored)
    }
    return changed.size
  }

  snapshot(id: string, provider: string): Snapshot | undefined {
    this.#open()
    const stored = this.#sessions.get(id)
    if (stored === undefined) return undefined
    const inserted = stored.log.rows.filter(({ position }) => position === undefined).length
    return {
      session: this.#counted(stored),
      view: indexView(stored.log, this.#estimator, provider),
      nextOrdinal: inserted + 1,
    }
  }

  contents(_id: string, keys: readonly number[]): Map<number, readonly Part[]> {
    return new Map(keys.map((key) => [key, partsOf(this.#row(key))] as const))
  }

  metadata(_id: string, keys: readonly number[]): Map<number, JsonObject> {
    return new Map(
      keys.flatMap((key) =>
        this.#row(key).metadata === undefined ? [] : [[key, this.#row(key).metadata!] as const],
      ),
    )
  }

  shownTexts(_id: string, keys: readonly number[]): Map<number, ReadonlyMap<number, string>> {
    return new Map(
      keys.map((key) => {
        const row = this.#row(key)
        const { log } = [...this.#sessions.values()].find((stored) => stored.log.rows.includes(row))!
        return [
          key,
          new Map([...tagsOf(log, row).shown].map(([part, { text }]) => [part, text] as const)),
        ] as const
      }),
    )
  }

  commit(snapshot: Snapshot, run: RunCommit): void {
    const id = snapshot.session.id
    const stored = this.#sessions.get(id)
    if (stored?.session.incarnation !== snapshot.session.incarnation || stored === undefined) {
      throw new UndertextError('STALE_PLAN', {
        sessionId: id,
        why: 'the session was purged in the meantime',
        messageIds: [],
      })
    }
    if (run.job !== undefined && this.jobs.held(run.job.jobId, run.job.runId) === undefined)
      throw new UndertextError('ABORTED', { sessionId: id })
    const all = indexView(stored.log, this.#estimator, snapshot.view.provider)
    const known = all.rows.filter(({ anchor }) => anchor <= snapshot.session.messageCount)
    let view = new View(
      known,
      this.#estimator,
      snapshot.view.provider,
      undefined,
      undefined,
      all.pointerTargets,
      all.previews,
    )
    const keys = new Map<number, number>()
    const before = stored.log
    const moved =
      stored.log.rows.filter(({ position }) => position === undefined).length + 1 - snapshot.nextOrdinal
    try {
      for (const step of run.steps) {
        checkStale(id, step.before, view, step.plan)
        const plan = rebasePlan(step.plan, view)
        checkLaws(id, view, plan)
        const ordinal = (step.inserted?.ordinal ?? 0) + moved
        const applied = applyPlan(view, plan, step.provisional, ordinal)
        const no = this.#nextNo++
        const inserted = applied.inserted && { anchor: applied.inserted.anchor, ordinal }
        const compaction: LogCompaction = {
          no,
          rank: no,
          id: step.id,
          run: run.runId,
          kind: plan.kind,
          status: 'active',
          coverage: { ...coverageOf(view, plan, inserted), inserted },
          replacements: plan.replace.map(({ row, part, text }) => ({
            key: keys.get(row.key) ?? row.key,
            part,
            text,
          })),
          requires: plan.requires.map(({ row, part, by }) => ({
            key: keys.get(row.key) ?? row.key,
            part,
            by,
          })),
          undoneWithRun: undefined,
        }
        let { rows } = stored.log
        if (applied.inserted !== undefined && plan.insert !== undefined) {
          const key = this.#nextKey++
          keys.set(applied.inserted.key, key)
          rows = [
            ...rows,
            insertedRow(
              stored.session.incarnation,
              key,
              no,
              applied.inserted.anchor,
              ordinal,
              plan.insert,
              step.createdAt,
            ),
          ]
        }
        stored.log = { rows, compactions: [...stored.log.compactions, compaction] }
        stored.facts.set(step.id, {
          trigger: run.trigger,
          params: step.plan.params,
          actor: run.actor,
          reason: run.reason,
          ...(run.trigger === 'import' && { createdAt: step.createdAt }),
          tokensBefore: step.before.tokens,
          tokensAfter: step.after.tokens,
          summarizer: step.summary?.summarizer,
          model: step.summary?.model,
          usage: step.summary?.usage,
          cost: step.summary?.cost,
        })
        view = applied.after
      }
      if (run.steps.length > 0) this.#moved(stored)
      const isUsers = run.trigger !== 'import' && run.trigger !== 'provider'
      if (isUsers && run.steps.some(({ plan }) => plan.kind !== 'manual'))
        stored.session = { ...stored.session, undoneAutomatic: 0 }
    } catch (error) {
      stored.log = before
      throw error
    }
  }

  leaseInTheWay(): undefined {
    return undefined
  }

  takeLease(): undefined {
    return undefined
  }

  renewLease(): boolean {
    return true
  }

  releaseLease(): void {}

  endAttempts(): void {}

  noteAttempt(): void {}

  noteAnswer(): void {}

  undo(id: string, target: string, { cascade, both }: UndoRequest): ReturnType<Storage['undo']> {
    const stored = this.#require(id)
    const { targets, isRun } = this.#targets(id, stored, target)
    const { log, taken, alsoChanged } = undoIn(
      id,
      stored.log,
      targets,
      cascade,
      isRun ? ++stored.audit : undefined,
    )
    if (!both) this.#refuseMoved(id, log, taken)
    stored.log = log
    this.#holdBack(stored, taken, 1)
    if (isRun && taken.length > 0) stored.runUndos.set(target, stored.audit)
    if (taken.length > 0) this.#moved(stored)
    return outcome(taken, alsoChanged)
  }

  #holdBack(stored: Stored, taken: readonly LogCompaction[], sign: 1 | -1): void {
    const automatic = taken.filter(({ id, kind }) => {
      const trigger = stored.facts.get(id)?.trigger
      return (trigger === 'auto' || trigger === 'overflow') && kind !== 'preview'
    })
    const undoneAutomatic = Math.max(0, stored.session.undoneAutomatic + sign * automatic.length)
    stored.session = { ...stored.session, undoneAutomatic }
  }

  /** After a rewind nothing of the view stood behind the last row it hid. */
  #refuseMoved(id: string, log: SessionLog, taken: readonly LogCompaction[]): void {
    const rows = projectView(log).map(({ row }) => row)
    for (const { id: compactionId, coverage } of taken.filter((one) => one.coverage.rewinds === true)) {
      const { positions, inserted } = coverage.hidden
      const last = Math.max(...positions.map(([, to]) => to), ...inserted.map(({ anchor }) => anchor))
      const since = rows.find(({ anchor }) => anchor > last)
      if (since !== undefined)
        throw new UndertextError('BRANCH_MOVED', { sessionId: id, compactionId, messageId: since.id })
    }
  }

  undoWhile(id: string, { kinds, provider, model }: UndoWhileRequest, passes: SessionTest): UndoWhileOutcome {
    const stored = this.#require(id)
    const readings = this.readings(id, provider, model)
    const before = this.#counted(stored)
    const taken: LogCompaction[] = []
    const alsoChanged: LogCompaction[] = []
    const blocked: string[] = []
    let after = before
    let refused: UndoWhileOutcome['refused']
    const standing = stored.log.compactions
      .filter(({ status }) => status === 'active')
      .sort((a, b) => b.rank - a.rank)
    for (const { id: compactionId, kind } of passes(before, readings) ? standing : []) {
      if (!kinds.includes(kind)) continue
      const compaction = stored.log.compactions.find((one) => one.id === compactionId)!
      if (compaction.status !== 'active') continue
      let turned: readonly LogCompaction[]
      const undone = { ...stored, session: { ...stored.session, viewEpoch: stored.session.viewEpoch + 1 } }
      try {
        const step = undoIn(id, stored.log, [compaction], false, undefined)
        undone.log = step.log
        turned = step.alsoChanged
        this.#refuseMoved(id, undone.log, [compaction])
      } catch {
        blocked.push(compactionId)
        continue
      }
      const figures = this.#counted(undone)
      if (!passes(figures, readings)) {
        refused = { compactionId, figures }
        break
      }
      stored.log = undone.log
      stored.session = undone.session
      taken.push(compaction)
      alsoChanged.push(...turned)
      after = figures
    }
    return { ...outcome(taken, alsoChanged), readings, before, after, refused, blocked }
  }

  redo(id: string, target: string, { cascade }: UndoRequest): ReturnType<Storage['redo']> {
    const stored = this.#require(id)
    const { targets, isRun } = this.#targets(id, stored, target)
    const last = stored.runUndos.get(target)
    const wanted = isRun
      ? stored.log.compactions.filter(
          (one) => last !== undefined && one.undoneWithRun === last && one.status === 'undone',
        )
      : targets
    const { log, taken, alsoChanged } = redoIn(id, stored.log, wanted, cascade, this.#estimator)
    stored.log = log
    if (taken.length > 0) this.#moved(stored)
    this.#holdBack(stored, taken, -1)
    const left = targets.filter((one) => one.status !== 'active' && !taken.some(({ no }) => no === one.no))
    return outcome(taken, alsoChanged, left)
  }

  compactions(id: string, query: { run?: string | undefined; id?: string | undefined }): Compaction[] {
    const { log, facts, session } = this.#require(id)
    return log.compactions
      .filter(
        (one) =>
          (query.run === undefined || one.run === query.run) &&
          (query.id === undefined || one.id === query.id),
      )
      .map(
        (one) =>
          ({
            id: one.id,
            runId: one.run,
            kind: one.kind,
            status: one.status,
            ...this.#coverageOf(log, one),
            rowsHidden: outcome([one]).rows,
            partsReplaced: one.replacements.length,
            replaced: placesOf(log, one.replacements)
              .sort((a, b) => a.at - b.at || a.ordinal - b.ordinal || a.part - b.part)
              .map(({ messageId, position, part }) => ({
                messageId,
                ...(position !== undefined && { position }),
                part,
              })),
            requires: placesOf(log, one.requires).map(({ messageId, part }) => ({ messageId, part })),
            rowsInserted: one.coverage.inserted === undefined ? 0 : 1,
            insertedIds:
              one.coverage.inserted === undefined
                ? []
                : [`${session.incarnation}:s${one.coverage.inserted.ordinal}`],
            ...facts.get(one.id),
          }) as Compaction,
      )
  }

  #coverageOf(log: SessionLog, { coverage: { lifts, restores, ...coverage } }: LogCompaction) {
    const idsOf = (numbers: readonly number[]): string[] =>
      numbers.map((no) => log.compactions.find((one) => one.no === no)!.id)
    return {
      coverage,
      ...(lifts !== undefined && { lifts: idsOf(lifts) }),
      ...(restores !== undefined && { restores: idsOf(restores) }),
    }
  }

  readings(id: string, provider: string, model: string): Readings {
    const session = this.session(id)
    return session === undefined
      ? { measurement: undefined, calibration: undefined, learned: NOTHING_LEARNED, fixed: undefined }
      : this.#readings.read(session, provider, model)
  }

  recordUsage(id: string, usage: UsageReport): UsageOutcome {
    const stored = this.#require(id)
    const view = projectView(stored.log).map(({ row, content }) => ({ ...row, content }))
    return this.#readings.record(this.#counted(stored), view, usage)
  }

  usage(id: string): RecordedUsage {
    const stored = this.#require(id)
    const summaries = this.compactions(id, {})
      .filter(({ usage, cost }) => usage !== undefined || cost !== undefined)
      .map(({ summarizer = '', model, usage, cost }) => ({ summarizer, model, usage, cost }))
    return { models: this.#readings.usage(stored.session), summaries }
  }

  cachedTokens(id: string, provider: string, model: string): number | undefined {
    const session = this.session(id)
    return session === undefined ? undefined : this.#readings.cachedTokens(session, provider, model)
  }

  learnLimit(provider: string, model: string, limit: NamedLimit): number {
    this.#open()
    return this.#readings.learn(provider, model, limit)
  }

  forgetLimit(provider: string, model: string): boolean {
    this.#open()
    return this.#readings.forget(provider, model)
  }

  limits(): ReturnType<ModelReadings['limits']> {
    this.#open()
    return this.#readings.limits()
  }

  auditLog(id: string): [] {
    this.#require(id)
    return []
  }

  verify(id: string): { findings: []; repaired: boolean } {
    this.#require(id)
    return { findings: [], repaired: false }
  }

  reestimate(id: string): Session {
    return this.#counted(this.#require(id))
  }

  close(): void {
    this.#closed = true
  }

  #open(): void {
    if (this.#closed) throw new UndertextError('STORE_CLOSED', {})
  }

  #require(id: string): Stored {
    this.#open()
    const stored = this.#sessions.get(id)
    if (stored === undefined || !isSeen(this.#seen, stored.session))
      throw new UndertextError('SESSION_NOT_FOUND', { sessionId: id })
    return stored
  }

  #row(key: number): LogRow {
    for (const { log } of this.#sessions.values()) {
      const row = log.rows.find((candidate) => candidate.key === key)
      if (row !== undefined) return row
    }
    throw new Error(`no row ${key}`)
  }

  #targets(id: string, { log }: Stored, target: string): { targets: LogCompaction[]; isRun: boolean } {
    const one = log.compactions.find((compaction) => compaction.id === target)
    if (one !== undefined) return { targets: [one], isRun: false }
    const targets = log.compactions.filter(({ run }) => run === target)
    if (targets.length > 0) return { targets, isRun: true }
    throw new UndertextError('COMPACTION_NOT_FOUND', { sessionId: id, compactionId: target })
  }

  #moved(stored: Stored): void {
    stored.session = { ...stored.session, viewEpoch: stored.session.viewEpoch + 1 }
  }

  /** The counters, counted. */
  #counted({ session, log }: Stored): Session {
    const view = indexView(log, this.#estimator, '')
    const hiddenBy = (test: (kind: LogCompaction['kind']) => boolean): number =>
      log.rows.filter((row) => {
        const { condenseParent, truncationParent } = tagsOf(log, row)
        const parent = log.compactions.find(({ no }) => no === (condenseParent ?? truncationParent))
        return parent !== undefined && test(parent.kind)
      }).length
    return {
      ...session,
      messageCount: log.rows.filter(({ position }) => position !== undefined).length,
      visibleCount: view.sent,
      visibleSizes: view.sizes,
      hidden: {
        condensed: hiddenBy(isCondensing),
        truncated: hiddenBy((kind) => !isCondensing(kind) && kind !== 'manual'),
        manual: hiddenBy((kind) => kind === 'manual'),
      },
      activeCompactions: log.compactions.filter(({ status }) => status === 'active').length,
    }
  }
}

function placesOf(
  log: SessionLog,
  places: readonly { readonly key: number; readonly part: number }[],
): { messageId: string; position: number | undefined; part: number; at: number; ordinal: number }[] {
  return places.map(({ key, part }) => {
    const row = log.rows.find((candidate) => candidate.key === key)!
    return { messageId: row.id, position: row.position, part, at: row.anchor, ordinal: row.ordinal }
  })
}

function insertedRow(
  incarnation: string,
  key: number,
  no: number,
  anchor: number,
  ordinal: number,
  insert: PlannedInsert,
  createdAt: number,
): LogRow {
  return {
    key,
    id: `${incarnation}:s${ordinal}`,
    kind: insert.kind,
    role: insert.role,
    content: contentOf(insert),
    metadata: Object.keys(insert.metadata).length === 0 ? undefined : insert.metadata,
    createdAt,
    position: undefined,
    anchor,
    ordinal,
    insertedBy: no,
    pinned: false,
  }
}

function insertedTags({ kind }: LogRow, id: string | undefined): object {
  if (kind === 'message') return {}
  return kind === 'summary' ? { condenseId: id } : { truncationId: id, isTruncationMarker: true }
}

function sourcePositions(log: SessionLog, row: LogRow): number[] {
  if (row.position !== undefined) return [row.position]
  const { coverage } = log.compactions.find(({ no }) => no === row.insertedBy)!
  return log.rows
    .filter((other) =>
      other.position === undefined
        ? coverage.hidden.inserted.some(({ ordinal }) => ordinal === other.ordinal)
        : coverage.hidden.positions.some(([from, to]) => other.position! >= from && other.position! <= to),
    )
    .flatMap((other) => sourcePositions(log, other))
}

function ranges(positions: readonly number[]): [number, number][] {
  const merged: [number, number][] = []
  for (const position of [...new Set(positions)].sort((a, b) => a - b)) {
    const last = merged.at(-1)
    if (last !== undefined && last[1] === position - 1) last[1] = position
    else merged.push([position, position])
  }
  return merged
}

function outcome(
  taken: readonly LogCompaction[],
  alsoChanged: readonly LogCompaction[] = [],
  left: readonly LogCompaction[] = [],
): UndoOutcome {
  return {
    ...(alsoChanged.length > 0 && { alsoChanged: alsoChanged.map(({ id }) => id) }),
    ...(left.length > 0 && { unchanged: left.map(({ id, status }) => ({ compactionId: id, status })) }),
    changed: taken.length > 0,
    compactionIds: taken.map(({ id }) => id),
    rows: taken.reduce(
      (sum, { coverage: { hidden } }) =>
        sum +
        hidden.inserted.length +
        hidden.positions.reduce((count, [from, to]) => count + to - from + 1, 0),
      0,
    ),
    parts: taken.reduce((sum, { replacements }) => sum + replacements.length, 0),
  }
}

function clean(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined))
}

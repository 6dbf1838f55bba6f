/** Every error code of this package with the facts it carries: ids and numbers, never text of a conversation. */
export interface Failures {
  INVALID_INPUT: { problems: string }
  SESSION_NOT_FOUND: { sessionId: string }
  SESSION_EXISTS: { sessionId: string }
  SESSION_AMBIGUOUS: { sessionId: string }
  OWNER_REQUIRED: Record<string, never>
  MESSAGE_NOT_FOUND: { sessionId: string; messageId: string }
  TOOL_CALL_NOT_FOUND: { sessionId: string; callId: string; position?: number }
  COMPACTION_NOT_FOUND: { sessionId: string; compactionId: string }
  POSITION_CONFLICT: { sessionId: string; expected: number; actual: number }
  IDEMPOTENCY_CONFLICT: { sessionId: string; idempotencyKey: string; messageId: string }
  MESSAGE_ID_TAKEN: { sessionId: string; messageId: string }
  STALE_PLAN: { sessionId: string; why: string; messageIds: readonly string[] }
  ILLEGAL_BOUNDARY: { sessionId: string; why: string; messageIds: readonly string[]; stage?: string }
  PENDING_TOOL_CALLS: { sessionId: string; messageIds: readonly string[] }
  HAS_ACTIVE_DEPENDENTS: { sessionId: string; compactionId: string; dependents: readonly string[] }
  HAS_FORKS: { sessionId: string; forks: readonly string[] }
  BRANCH_MOVED: { sessionId: string; compactionId: string; messageId: string }
  CONTENT_RETIRED: {
    sessionId: string
    compactionId: string
    /** The number of messages of which retention removed something, and of the removed parts. */
    messages: number
    parts: number
    /** The ids of the first of these messages. */
    messageIds: readonly string[]
  }
  INPUT_NOT_VISIBLE: { sessionId: string; compactionId: string; why: string; missing: readonly string[] }
  STAGE_FAILED: { sessionId: string; stage: string; error: string }
  /** `runId` is absent if the call was made within the run itself. */
  COMPACTION_IN_PROGRESS: { sessionId: string; runId?: string; expiresAt: number }
  CIRCUIT_OPEN: { sessionId: string; failures: number; error: string; openUntil: number }
  JOB_NOT_FOUND: { jobId: string }
  REQUEST_NOT_FOUND: { sessionId: string; request: string }
  NOTE_NOT_FOUND: { noteId: string }
  ABORTED: { sessionId: string }
  ESTIMATOR_UNKNOWN: { sessionId: string; estimator: string }
  TOKENIZER_UNAVAILABLE: { tokenizer: string; detail: string }
  IN_TRANSACTION: { verb: string }
  STORE_CLOSED: Record<string, never>
  STORE_READONLY: { verb: string; detail?: string }
  STORE_TOO_NEW: { found: number; supported: number }
  STORE_TOO_OLD: { found: number; supported: number }
  STORE_CORRUPT: { detail: string }
  /** The database rejected a statement: a bug in this package, or another program changed the columns of the tables. */
  INTERNAL_ERROR: { detail: string }
  STORE_BUSY: { waitedMs: number; detail?: string }
  STORE_FULL: { detail: string }
  /** `outcome` is present if the connection was lost during a commit, so that the call may have been stored. */
  STORE_UNAVAILABLE: {
    location: string
    detail: string
    outcome?: 'unknown'
    advice?: 'KEEP_FORKS' | 'UNPREPARED'
  }
  NOT_A_STORE: { location: string; detail: string; advice?: 'ADOPT' }
  CONNECTION_UNSUITABLE: { detail: string; advice?: 'READONLY' }
  DRIVER_UNSUPPORTED: { driver: string; node: string; advice: string }
  /** If `driver` is absent, it is better-sqlite3. */
  DRIVER_UNAVAILABLE: { detail: string; driver?: string }
  CONTEXT_BUDGET_EXCEEDED: ContextBudgetFacts
  REQUEST_REFUSED: RefusalFacts
  /** The rules of docs/validity.md that the request breaks, and the place of each in its body, in the same order. */
  REQUEST_INVALID: { sessionId: string; provider: string; rules: readonly string[]; paths: readonly string[] }
  /** The name of the error of a redact function, or `NOT_A_TEXT` or `PROMISE` for what it returned. */
  REDACTION_FAILED: { error: string }
  /** The indexes of the message in the call, and of its part. */
  REDACTION_REFUSED: { message: number; part: number }
  OUTPUT_NOT_SAVED: { reason: string; originalSize: number }
  FILES_ABORTED: { files: number }
  MODEL_CALL_FAILED: { summarizer: string; error: string }
  AI_SDK_UNAVAILABLE: { detail: string }
  CLAUDE_AGENT_SDK_UNAVAILABLE: { detail: string }
  SUMMARIZER_FAILED: { summarizer: string; error: string }
  STRATEGY_FAILED: { strategy: string; error: string }
  HISTORY_DIVERGED: { sessionId: string; position: number; why: string }
  APPROVAL_STORED: { sessionId: string; toolCallIds: readonly string[] }
  TURN_IN_PROGRESS: { sessionId: string; turnId: string; expiresAt: number }
  TURN_LOST: { sessionId: string; turnId: string }
  OPERATION_CONFLICT: { sessionId: string; operationId: string }
  HISTORY_REFUSED: { line: number; why: string }
  IMPORT_DIVERGED: { sessionId: string; position: number; why: string }
  IMPORT_ABORTED: { file: string; imported: number }
  FILE_UNREADABLE: { file: string; detail: string }
  FILE_UNRECOGNIZED: { file: string; looks: string }
  FILE_CHANGED: { file: string; imported: number }
  FILE_EXISTS: { file: string }
  FILE_UNWRITABLE: { file: string; detail: string }
  BACKUP_ABORTED: { file: string }
  /** `page` of the documentation says what to use instead. */
  NOT_SUPPORTED: { verb: string; engine: string; page: string }
}

/** The facts about a request that does not fit. All figures are in tokens. */
export type ContextBudgetFacts = {
  /** The size of the request, estimated or as the provider reported it. */
  readonly estimatedTokens: number
  /** The input that the model accepts. */
  readonly availableTokens: number
  /** The stages of compaction that were tried. */
  readonly stagesUsed: readonly string[]
  /** The size of the request by category, as `checkContextBudget` returns it. */
  readonly breakdown: {
    readonly systemPrompt: number
    readonly conversationHistory: number
    readonly currentPrompt: number
    readonly toolDefinitions: number
    readonly fileAttachments: number
    /**
     * Tokens that the call doesn't contain: the system prompt and tools of the session's last request, and tokens that only the provider
     * counted. Present only if there are any.
     */
    readonly unseen?: number
  }
  readonly provider?: string
  readonly model?: string
}

/** The facts about a request whose content a provider still refuses after all repairs. */
export type RefusalFacts = {
  readonly sessionId: string
  readonly provider: string
  /** The kind of refused content; docs/validity.md lists the kinds. */
  readonly kind: string
  /** The path of the content, as the error gives it. */
  readonly path?: string
  /**
   * The repairs that were made, oldest first. `undone`: whether a repair was undone because the provider refused the same content again.
   */
  readonly tried: readonly {
    readonly kind: string
    readonly path?: string
    readonly messageIds: readonly string[]
    readonly undone: boolean
  }[]
}

/** The code of an `UndertextError`. Codes are stable. */
export type ErrorCode = keyof Failures

/** The most ids that one message lists; the rest are counted. */
const MAX_LISTED_IDS = 20

function named(ids: readonly string[]): string {
  const shown = ids.slice(0, MAX_LISTED_IDS).map((id) => JSON.stringify(id))
  return ids.length > MAX_LISTED_IDS
    ? `${shown.join(', ')} and ${ids.length - MAX_LISTED_IDS} more`
    : shown.join(', ')
}

/** Formats a time. Any number is accepted, because a time in a damaged file may be out of range. */
function timeOf(ms: number): string {
  return Number.isFinite(ms) && Math.abs(ms) < 8.64e15 ? new Date(ms).toISOString() : String(ms)
}

function conversations(imported: number): string {
  if (imported === 0) return 'none of it was stored'
  return imported === 1
    ? 'the one conversation before it is stored'
    : `the ${imported} conversations before it are stored`
}

/** The option of the API that helps, by the fact `advice`. The command line has its own words for each. */
const ADVICE = {
  ADOPT: 'Name another file or schema, or have openStore add the tables to it with { adopt: true }.',
  KEEP_FORKS: "Purge as the owner of the tables, with { forks: 'keep' }.",
  UNPREPARED: 'Over a pooler in transaction mode, open the store with prepare: false.',
  READONLY: 'Pass { readonly: true } to openStore.',
}

function advised(sentence: string, advice: keyof typeof ADVICE | undefined): string {
  return advice === undefined ? sentence : `${sentence} ${ADVICE[advice]}`
}

/** One message per code: what happened, and what to do. */
const SENTENCES: { readonly [C in ErrorCode]: (facts: Failures[C]) => string } = {
  INVALID_INPUT: ({ problems }) => `Invalid input; nothing was written:\n${problems}`,
  SESSION_NOT_FOUND: ({ sessionId }) =>
    `There is no session ${JSON.stringify(sessionId)}. append or sessions.create creates it.`,
  SESSION_EXISTS: ({ sessionId }) =>
    `Session ${JSON.stringify(sessionId)} already exists. Use sessions.update to change it.`,
  SESSION_AMBIGUOUS: ({ sessionId }) =>
    `Several owners have a session ${JSON.stringify(sessionId)}. Use the store of one of them: store.forOwner(owner).`,
  OWNER_REQUIRED: () =>
    'This store was opened with strict: true, so it is used for one owner at a time: store.forOwner(owner).',
  MESSAGE_NOT_FOUND: ({ sessionId, messageId }) =>
    `Session ${JSON.stringify(sessionId)} has no message ${JSON.stringify(messageId)}.`,
  TOOL_CALL_NOT_FOUND: ({ sessionId, callId, position }) =>
    `Session ${JSON.stringify(sessionId)} has no tool call ${JSON.stringify(callId)}${position === undefined ? '' : ` with a message at position ${position}`}. messages.toolCalls lists them.`,
  COMPACTION_NOT_FOUND: ({ sessionId, compactionId }) =>
    `Session ${JSON.stringify(sessionId)} has no compaction or run ${JSON.stringify(compactionId)}. listCompactions lists them.`,
  POSITION_CONFLICT: ({ sessionId, expected, actual }) =>
    `Session ${JSON.stringify(sessionId)} is at position ${actual}, not ${expected}: another writer appended first. Read the session again, then retry.`,
  IDEMPOTENCY_CONFLICT: ({ idempotencyKey, messageId }) =>
    `The idempotency key ${JSON.stringify(idempotencyKey)} was already used for message ${JSON.stringify(messageId)}, which has a different body. Use a new key for a new message.`,
  MESSAGE_ID_TAKEN: ({ sessionId, messageId }) =>
    `Session ${JSON.stringify(sessionId)} already has a message ${JSON.stringify(messageId)}, or the id has the form of the ids that undertext assigns in this session. Ids are unique within a session: choose another one.`,
  STALE_PLAN: ({ why, messageIds }) =>
    `The plan is out of date, so nothing was changed. Plan again. Reason: ${why}${messageIds.length > 0 ? `: ${named(messageIds)}` : ''}.`,
  ILLEGAL_BOUNDARY: ({ why, messageIds, stage }) =>
    `${stage === undefined ? 'These' : `The stage ${JSON.stringify(stage)} planned an illegal change: these`} messages can't be hidden (${why})${messageIds.length > 0 ? `: ${named(messageIds)}` : ''}.`,
  PENDING_TOOL_CALLS: ({ messageIds }) =>
    `These messages belong to tool calls that wait for a result, so they can't be hidden: ${named(messageIds)}. Append the results first; for an abandoned call, append a result that states this.`,
  HAS_ACTIVE_DEPENDENTS: ({ compactionId, dependents }) =>
    `Compaction ${compactionId} can't be undone on its own: other active compactions build on it (${named(dependents)}). Undo those first, or pass { cascade: true }.`,
  HAS_FORKS: ({ sessionId, forks }) =>
    `Session ${JSON.stringify(sessionId)} has forks (${named(forks)}) that need its messages. Pass { forks: 'keep' } to keep the messages that they need, or { forks: 'purge' } to purge them too.`,
  BRANCH_MOVED: ({ compactionId, messageId }) =>
    `Messages were appended after rewind ${compactionId}, beginning with ${JSON.stringify(messageId)}. To restore only the former conversation, rewind to that message first. To restore both, with the former messages first, pass { both: true }.`,
  CONTENT_RETIRED: ({ compactionId, messages, parts, messageIds }) =>
    `Nothing was changed: the view would show messages without content that retention removed while compaction ${compactionId} kept it out of the view (${parts} ${parts === 1 ? 'part' : 'parts'} of ${messages} ${messages === 1 ? 'message' : 'messages'}: ${named(messageIds)}). Pass { showRetired: true } to show what stayed of them.`,
  INPUT_NOT_VISIBLE: ({ compactionId, why, missing }) =>
    `Compaction ${compactionId} can't be redone now (${why})${missing.length > 0 ? `: ${named(missing)}` : ''}. Pass { cascade: true } to first redo the compactions that it builds on, if they were undone.`,
  STAGE_FAILED: ({ sessionId, stage, error }) =>
    `The stage ${JSON.stringify(stage)} failed to plan for session ${JSON.stringify(sessionId)} (${error}); nothing was changed.`,
  COMPACTION_IN_PROGRESS: ({ sessionId, runId }) =>
    runId === undefined
      ? `Session ${JSON.stringify(sessionId)} is being compacted by the run that made this call. Call it again after that run has ended.`
      : `Session ${JSON.stringify(sessionId)} is being compacted by another run (${runId}). Try again after that run has ended.`,
  CIRCUIT_OPEN: ({ sessionId, failures, error, openUntil }) =>
    `Session ${JSON.stringify(sessionId)} isn't compacted in the background until ${timeOf(openUntil)}: its last ${failures} automatic runs failed (${error}). compactSession still works.`,
  JOB_NOT_FOUND: ({ jobId }) =>
    `There is no job ${JSON.stringify(jobId)}. jobs.list lists the jobs of a session.`,
  REQUEST_NOT_FOUND: ({ sessionId, request }) =>
    `Session ${JSON.stringify(sessionId)} has no recorded request ${JSON.stringify(request)}. requests.list lists them.`,
  NOTE_NOT_FOUND: ({ noteId }) =>
    `There is no note ${JSON.stringify(noteId)}. recall lists the notes of a session or an owner.`,
  ABORTED: ({ sessionId }) =>
    `The work on session ${JSON.stringify(sessionId)} was aborted by its signal; nothing was changed.`,
  ESTIMATOR_UNKNOWN: ({ sessionId, estimator }) =>
    `The estimator ${JSON.stringify(estimator)}, requested for or recorded with session ${JSON.stringify(sessionId)}, is unknown to this store. Pass it to openStore as estimator or in estimators.`,
  TOKENIZER_UNAVAILABLE: ({ tokenizer, detail }) =>
    `The tokenizer ${JSON.stringify(tokenizer)} can't be loaded: ${detail} It comes with the optional package gpt-tokenizer: npm install gpt-tokenizer`,
  IN_TRANSACTION: ({ verb }) =>
    `${verb} was called inside an open transaction of the connection. Commit or roll back first: each method runs its own transaction. The option also of append writes rows of yours in it.`,
  STORE_CLOSED: () => 'This store is closed. Open it again with openStore.',
  STORE_READONLY: ({ verb, detail = 'This store was opened read-only' }) =>
    `${detail}, so ${verb} can't write.`,
  STORE_TOO_NEW: ({ found, supported }) =>
    `The store has schema ${found}, but this version of undertext supports only schemas up to ${supported}. Upgrade the package.`,
  STORE_TOO_OLD: ({ found, supported }) =>
    `The store has schema ${found}, but ${supported} is required, and a read-only store isn't migrated. Open it once for writing to migrate it.`,
  STORE_CORRUPT: ({ detail }) =>
    `The database is damaged (${detail}). Restore a backup, or run sessions.verify.`,
  INTERNAL_ERROR: ({ detail }) =>
    `The database rejected a statement of undertext (${detail}); nothing was written. Unless another program changed the tables, this is a bug in undertext: report it with this code.`,
  STORE_BUSY: ({ waitedMs, detail = 'Another connection held the database' }) =>
    `${detail} for longer than ${waitedMs} ms; nothing was written. Try again, or raise busyTimeoutMs.`,
  STORE_FULL: ({ detail }) => `No space is left for the database (${detail}); nothing was written.`,
  STORE_UNAVAILABLE: ({ location, detail, advice }) =>
    advised(`The store ${JSON.stringify(location)} can't be used: ${detail}`, advice),
  NOT_A_STORE: ({ location, detail, advice }) =>
    advised(`${JSON.stringify(location)} isn't an undertext store: ${detail}`, advice),
  CONNECTION_UNSUITABLE: ({ detail, advice }) =>
    advised(`This connection can't be used for a store: ${detail}`, advice),
  DRIVER_UNSUPPORTED: ({ driver, node, advice }) =>
    `better-sqlite3 ${driver} doesn't work on Node ${node}. ${advice}`,
  DRIVER_UNAVAILABLE: ({ detail, driver = 'better-sqlite3' }) => `${driver} can't be loaded: ${detail}`,
  REQUEST_REFUSED: ({ sessionId, provider, kind, path, tried }) => {
    const place = path === undefined ? '' : ` at ${path}`
    const ids = [...new Set(tried.flatMap(({ messageIds }) => messageIds))]
    const about = ids.length === 0 ? '' : ` (messages ${named(ids)})`
    return `The provider ${JSON.stringify(provider)} rejects a request of session ${JSON.stringify(sessionId)} because of its content: ${kind}${place}. Repairs were tried${about}, and those that didn't help were undone. Hide the rejected content with compactions.hide, or use another model; originalErrorOf returns the provider's error.`
  },
  CONTEXT_BUDGET_EXCEEDED: ({ estimatedTokens, availableTokens, stagesUsed, breakdown, provider, model }) => {
    const fixed = estimatedTokens - breakdown.conversationHistory
    const target = model === undefined ? (provider ?? 'the model') : JSON.stringify(model)
    const tried = stagesUsed.length === 0 ? 'nothing was compacted' : `after ${stagesUsed.join(', ')}`
    const advice =
      fixed >= availableTokens
        ? "Compacting the history isn't enough: shorten the system prompt, the prompt, the tools or the files, or use a model with a larger window."
        : 'Compact to a lower target, unpin messages, ask for fewer output tokens, or use a model with a larger window.'
    return `The request has ${estimatedTokens} tokens, but ${target} has room for only ${availableTokens} (${tried}). ${advice}`
  },
  REDACTION_FAILED: ({ error }) =>
    `The redact function of this store failed (${error}), so nothing was written. It must return a text, or { text, found }, synchronously; originalErrorOf returns its error.`,
  REDACTION_REFUSED: ({ message, part }) =>
    `Part ${part} of message ${message} has a text to redact, but is signed or encrypted by its provider, so it can't be changed; nothing was written. Append the message without this part, or open the store with redact: { sealed: 'drop', opaque: 'drop' }.`,
  OUTPUT_NOT_SAVED: ({ reason, originalSize }) =>
    `A tool output of ${originalSize} bytes couldn't be saved (${reason}), so it wasn't truncated. Pass another saveDir, or truncate without saveToDisk.`,
  FILES_ABORTED: ({ files }) => `Summarizing ${files} files was aborted by its signal; no file was changed.`,
  MODEL_CALL_FAILED: ({ summarizer, error }) =>
    `The summarizer ${JSON.stringify(summarizer)} couldn't call its model (${error}). originalErrorOf returns the error.`,
  AI_SDK_UNAVAILABLE: ({ detail }) =>
    `The AI SDK can't be used: ${detail} It is the optional package ai, versions 5 to 7: npm install ai`,
  CLAUDE_AGENT_SDK_UNAVAILABLE: ({ detail }) =>
    `The Claude Agent SDK can't be used: ${detail} It is the optional package @anthropic-ai/claude-agent-sdk: npm install @anthropic-ai/claude-agent-sdk`,
  SUMMARIZER_FAILED: ({ summarizer, error }) =>
    `The summarizer ${JSON.stringify(summarizer)} returned no usable summary (${error}); nothing was changed.`,
  STRATEGY_FAILED: ({ strategy, error }) =>
    `The strategy ${JSON.stringify(strategy)} failed (${error}); nothing was changed.`,
  REQUEST_INVALID: ({ sessionId, provider, rules, paths }) =>
    `${JSON.stringify(provider)} would reject the request of session ${JSON.stringify(sessionId)}: ${brokenRules(rules, paths)}. Nothing was sent; docs/validity.md explains the rules.`,
  TURN_IN_PROGRESS: ({ sessionId, turnId }) =>
    `Another turn (${turnId}) of session ${JSON.stringify(sessionId)} is under way; nothing was changed. Try again after it has ended, or pass takeOver: true to end it.`,
  TURN_LOST: ({ sessionId, turnId }) =>
    `The turn ${turnId} no longer holds session ${JSON.stringify(sessionId)}: it ended, or another turn took over. Nothing was written. Read the session again, and begin a new turn.`,
  OPERATION_CONFLICT: ({ operationId }) =>
    `The operation id ${JSON.stringify(operationId)} was already used for another rewind of this session; nothing was changed. Use a new id for a new operation.`,
  HISTORY_REFUSED: ({ line, why }) =>
    `The history was rejected at line ${line} (${why}); none of it was stored. Export it again, or use a complete copy.`,
  IMPORT_DIVERGED: ({ sessionId, position, why }) =>
    `Session ${JSON.stringify(sessionId)} differs from the import at position ${position} (${why}); nothing was added. Import it under another id.`,
  IMPORT_ABORTED: ({ file, imported }) =>
    `The import of ${JSON.stringify(file)} was aborted by its signal; ${conversations(imported)}. Import it again: nothing is stored twice.`,
  FILE_UNREADABLE: ({ file, detail }) => `${JSON.stringify(file)} can't be read: ${detail}`,
  FILE_UNRECOGNIZED: ({ file, looks }) =>
    `${JSON.stringify(file)} isn't recognized: it looks like ${looks}. docs/imports.md lists the recognized formats.`,
  FILE_CHANGED: ({ file, imported }) =>
    `${JSON.stringify(file)} was changed after it was checked and before it was stored; ${conversations(imported)}. Import it again once no program is writing to it.`,
  FILE_EXISTS: ({ file }) =>
    `${JSON.stringify(file)} already exists; nothing was written. Name another file, or pass overwrite: true to replace it.`,
  FILE_UNWRITABLE: ({ file, detail }) =>
    `${JSON.stringify(file)} can't be written: ${detail} Nothing was written.`,
  BACKUP_ABORTED: ({ file }) =>
    `The backup to ${JSON.stringify(file)} was aborted by its signal; nothing was written.`,
  NOT_SUPPORTED: ({ verb, engine, page }) =>
    `${verb} isn't supported on ${engine}, which has tools of its own for this: ${page} describes them.`,
  APPROVAL_STORED: ({ sessionId, toolCallIds }) =>
    `In session ${JSON.stringify(sessionId)}, another request stored the approval of ${toolCallIds.length === 1 ? 'a tool call' : `${toolCallIds.length} tool calls`}, so nothing was run. Load the chat again. If a call has no result although no request is running, it is unknown whether its tool ran: pass repeatApproved: true to run it again.`,
  HISTORY_DIVERGED: ({ sessionId, position, why }) =>
    `The prompt continues from position ${position} of session ${JSON.stringify(sessionId)}, but the messages after it can't be rewound (${why}). Continue from the end, or in a new session.`,
}

/** The most rules that an error message lists. */
const MAX_LISTED_RULES = 5

function brokenRules(rules: readonly string[], paths: readonly string[]): string {
  const named = rules
    .slice(0, MAX_LISTED_RULES)
    .map((rule, i) => (paths[i] === '' ? rule : `${rule} at ${paths[i]}`))
  const more = rules.length - named.length
  return `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** The names of the errors of this package. Errors of another copy of the package are recognized by them. */
const NAMES = ['UndertextError', 'ContextBudgetExceededError'] as const

/**
 * The error class of this package. `code` is for programs and never changes its meaning; `message` is for people and may
 * change. `facts` holds ids and numbers, never text of a conversation, so an error is safe to log.
 */
export class UndertextError<C extends ErrorCode = ErrorCode> extends Error {
  override readonly name: (typeof NAMES)[number] = 'UndertextError'
  readonly code: C
  readonly facts: Failures[C]

  constructor(code: C, facts: Failures[C], options?: ErrorOptions) {
    super(SENTENCES[code](facts), options)
    this.code = code
    this.facts = facts
  }
}

/** Maps each error of this package to the error of the application's own code that it reports. */
const originals = new WeakMap<UndertextError, unknown>()

/** Returns whether an `import`, or a `require` in a bundle, failed because the package is not installed. */
export function isNotFound(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code
  return code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
}

/** Attaches the error of the application's own code (a stage, a strategy, a summarizer) to the error of this package that reports it. */
export function withOriginal<E extends UndertextError>(error: E, original: unknown): E {
  originals.set(error, original)
  return error
}

/**
 * Returns the error that an error of this package reports: the error of a stage, strategy or summarizer of the application, of the AI
 * SDK, or of a provider. Otherwise returns `undefined`. The original is not the `cause`, because a `cause` is printed with its error and
 * its text may quote the conversation.
 */
export function originalErrorOf(error: unknown): unknown {
  return isUndertextError(error) ? originals.get(error) : undefined
}

/**
 * Thrown when the request does not fit the model after every possible compaction. A recovery throws it in place of the provider's own
 * error, which `originalErrorOf` returns. `readOverflow` returns `undefined` for it, so that no caller starts another recovery.
 */
export class ContextBudgetExceededError extends UndertextError<'CONTEXT_BUDGET_EXCEEDED'> {
  override readonly name = 'ContextBudgetExceededError'

  constructor(facts: ContextBudgetFacts, options?: ErrorOptions) {
    super('CONTEXT_BUDGET_EXCEEDED', facts, options)
  }

  /** The size of the request, in tokens. */
  get estimatedTokens(): number {
    return this.facts.estimatedTokens
  }

  /** The input that the model accepts, in tokens. */
  get availableTokens(): number {
    return this.facts.availableTokens
  }

  /** The stages of compaction that were tried. */
  get stagesUsed(): string[] {
    return [...this.facts.stagesUsed]
  }

  /** The size of the request by category, in tokens. */
  get breakdown(): ContextBudgetFacts['breakdown'] {
    return this.facts.breakdown
  }

  /** The provider of the request, if known. */
  get provider(): string | undefined {
    return this.facts.provider
  }

  /** The model of the request, if known. */
  get model(): string | undefined {
    return this.facts.model
  }
}

/** Returns whether a value is an error of this package, from any installed copy; with `code`, only an error with that code. */
export function isUndertextError<C extends ErrorCode>(value: unknown, code?: C): value is UndertextError<C> {
  try {
    return (
      value instanceof Error &&
      (NAMES as readonly string[]).includes(value.name) &&
      typeof (value as { code?: unknown }).code === 'string' &&
      (code === undefined || (value as { code?: unknown }).code === code)
    )
  } catch {
    // A value that throws while it is read, such as a revoked proxy, is not an error of this package.
    return false
  }
}

/**
 * Returns the code of an error, or else its name, or else `Error`; for a thrown value that is not an error, its type. The message of an
 * error may quote the conversation, and a name may be any text, so neither is used unchecked.
 */
export function errorName(error: unknown): string {
  try {
    if (!(error instanceof Error)) return typeof error
    const { code } = error as { code?: unknown }
    if (typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code)) return code
    return /^[A-Z][A-Za-z0-9]{0,50}(?:Error|Exception)$/.test(error.name) ? error.name : 'Error'
  } catch {
    // A getter can throw.
    return 'Error'
  }
}

/** Returns an `INVALID_INPUT` error whose reason is one sentence. */
export function invalid(problems: string): UndertextError<'INVALID_INPUT'> {
  return new UndertextError('INVALID_INPUT', { problems })
}

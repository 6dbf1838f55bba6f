import { invalid, isUndertextError, UndertextError } from '../../core/errors.ts'
import { defined } from '../../core/messages/json.ts'
import type { NewMessage } from '../../core/messages/message.ts'
import { wellFormed } from '../../core/messages/well-formed.ts'
import { CONTINUATION_TEXT } from '../../core/rendering/contents.ts'
import { validateRequest } from '../../core/validity/validate-request.ts'
import type { BesideOthers, Compactor } from '../compaction/compactor.ts'
import type { CompactionPreview, CompactionResult } from '../compaction/result.ts'
import type { ContextStats } from '../compaction/stats.ts'
import { LeaseTaken, OTHERS_WAIT_MS, PREPARE_WAIT_MS } from '../compaction/waiting.ts'
import type { CheckedStats, CompactOptions } from '../config/store-options.ts'
import {
  type Draft,
  draftRequest,
  promptSize,
  questionOf,
  type ReadSnapshot,
  type RequestParts,
  roomForFiles,
  type SessionSnapshot,
} from './draft.ts'
import { RequestFiles } from './files.ts'
import { type CheckedPrepare, requestParts, runOptions } from './options.ts'
import { exceeded, type PreparedRequest } from './prepared.ts'
import { automaticSettings, Deadline, fixedTokens, lastResort, OUT_OF_TIME, WITHOUT_WAITING } from './room.ts'
import { type TurnHooks, usageOf } from './turn-hooks.ts'

/** Share of the time left that a summarizer may take: the rest is for a run without it. */
const SUMMARIZER_SHARE = 0.9
/** The maximum number of runs to make one request fit; each must have made it smaller. */
const MOST_RUNS = 4
/** How often others may change the session meanwhile before these runs are counted too. */
const MOST_ROUNDS = 50

/** What preparing needs of a store. */
type PreparePort = {
  readonly turns: Pick<TurnHooks, 'before' | 'warn'>
  readonly read: ReadSnapshot
  readonly compact: (
    sessionId: string,
    config: CompactOptions | CompactionPreview,
  ) => Promise<CompactionResult | null>
  readonly preview: (sessionId: string, config: CompactOptions) => Promise<CompactionPreview | null>
  /** Runs work while no other run of the session waits for a paid summary; waits for such runs first. */
  readonly undisturbed: Compactor['undisturbed']
  /** Waits for background work. */
  readonly settle: (
    ...args: [sessionId: string, waitMs: number, signal: AbortSignal | undefined, othersMs: number]
  ) => Promise<unknown>
  readonly offer: (sessionId: string, stats: ContextStats) => void
}

/** A request in preparation, and the runs made for it so far. */
type Preparing = RequestParts & {
  readonly deadline: Deadline
  /** The end of the waits for others: sooner than `deadline`, unless the caller sets it. */
  readonly others: Deadline
  readonly auto: boolean
  readonly runs: CompactionResult[]
  /** Stages that were tried, with or without success. */
  readonly tried: string[]
}

/** What was tried to make a request fit since others last changed the session. */
type RoomAttempt = {
  readonly runs: number
  /** Tokens to aim for: below the available ones by as many as the planner's estimates were too low. */
  readonly target: number
}

/** Prepares requests: counts, makes room, renders, and refuses what does not fit. */
export class RequestPreparer {
  readonly #port: PreparePort

  constructor(port: PreparePort) {
    this.#port = port
  }

  /** With `ignoresThreshold` room is made only for what does not fit. */
  async prepare(
    sessionId: string,
    options: CheckedPrepare,
    prompt: readonly NewMessage[],
    ignoresThreshold = false,
  ): Promise<PreparedRequest> {
    const { waitMs = PREPARE_WAIT_MS, signal } = options
    const deadline = new Deadline(sessionId, waitMs, signal)
    const othersMs = options.compaction?.waitMs ?? options.waitMs ?? OTHERS_WAIT_MS
    const others = new Deadline(sessionId, Math.min(othersMs, waitMs), signal)
    const snapshot = await this.#port.read(sessionId, options.provider, options.model)
    const { estimator, chosen, settings } = snapshot
    const preparing: Preparing = {
      sessionId,
      options,
      prompt,
      deadline,
      others,
      files:
        options.files === undefined || options.files.length === 0
          ? undefined
          : new RequestFiles(options.files, { estimator, provider: chosen.key }),
      auto: (options.auto ?? settings.auto) && settings.enabled,
      added: undefined,
      runs: [],
      tried: [],
    }
    const before = await this.#before(preparing, snapshot, ignoresThreshold)
    // For reasoning that is bound to what precedes it the system prompt stays as it is.
    const binds = snapshot.reasoning !== undefined
    const added = binds ? before.texts : undefined
    const system = binds ? wellFormed(options.system) || undefined : before.systemPrompt
    const draft = await this.#untilItFits({ ...preparing, added }, requestParts({ ...options, system }))
    const isEmpty = draft.messages.every(
      ({ role, content }) => role === 'system' || content === CONTINUATION_TEXT,
    )
    if (isEmpty && draft.snapshot.view.length + prompt.length > 0)
      throw invalid('the request has no message to send: append one, or pass a prompt that is not blank')
    return accepted(this.#result(preparing, before, { ...draft, system }), options.validate)
  }

  /** How full the context is, a warning, and a compaction when it is due: as `beforeTurn` does. */
  async #before(
    preparing: Preparing,
    snapshot: SessionSnapshot,
    ignoresThreshold: boolean,
  ): ReturnType<TurnHooks['before']> {
    const { sessionId, options, prompt, files, auto } = preparing
    const request = requestParts(options)
    const own = promptSize(snapshot, prompt)
    const fileTokens = files?.tokensIn(roomForFiles(preparing, snapshot, request)) ?? 0
    const { provider, model, warningLevels, injector, turnNumber, persistentContext, compaction } = options
    return this.#port.turns.before(
      sessionId,
      {
        ...request,
        ...own,
        pendingTokens: own.pendingTokens + fileTokens,
        provider,
        model,
        auto: auto && !ignoresThreshold,
        warningLevels,
        injector,
        turnNumber,
        persistentContext,
        compaction,
      },
      (config, look) => this.#makeRoom(preparing, snapshot, config, look),
    )
  }

  /**
   * A run when it is still due after background work is done. When the time for models is over, the stages that need no model make room.
   * Beside the run of another, a request that fits is left as it is: the other's summary would become stale.
   */
  async #makeRoom(
    { sessionId, options, deadline, others, runs, tried }: Preparing,
    { settings }: SessionSnapshot,
    config: CompactOptions,
    look: () => Promise<ContextStats | null>,
  ): Promise<CompactionResult | null> {
    const isDue = async (isBeside = false): Promise<boolean> => {
      deadline.throwIfAborted()
      const stats = await look()
      if (stats?.shouldCompact !== true || (isBeside && stats.withinBudget)) return false
      // A request that is too large without its history is refused: hiding the history would not help.
      return fixedTokens(stats) <= stats.availableInputTokens
    }
    const record = (run: CompactionResult | null): CompactionResult | null => {
      if (run !== null) {
        runs.push(run)
        for (const stage of run.stagesUsed) tried.push(stage)
      }
      return run
    }
    if (deadline.leftMs > 0)
      await this.#port.settle(sessionId, deadline.leftMs, deadline.signal, others.leftMs)
    if (!(await isDue())) return null
    const { compaction } = options
    const { leftMs } = deadline
    if (leftMs > 0) {
      const summaryMs = compaction?.summaryTimeoutMs ?? settings.summaryTimeoutMs ?? leftMs
      const run = await deadline
        .within((signal) =>
          this.#port.compact(sessionId, {
            ...config,
            waitMs: others.leftMs,
            summaryTimeoutMs: Math.max(1, Math.min(summaryMs, Math.floor(leftMs * SUMMARIZER_SHARE))),
            signal: config.signal === undefined ? signal : AbortSignal.any([signal, config.signal]),
          }),
        )
        .catch((error: unknown) => {
          // Another caller changed the view meanwhile, or is still at work: look again.
          const isBusy = error instanceof LeaseTaken && compaction?.whenBusy === undefined
          if (isBusy || isUndertextError(error, 'STALE_PLAN')) return OUT_OF_TIME
          throw error
        })
      if (typeof run !== 'symbol') return record(run)
      if (!(await isDue())) return null
    }
    return this.#undisturbed({ sessionId, others }, async ({ hasWaited, isBeside }) => {
      if ((hasWaited || isBeside) && !(await isDue(isBeside))) return null
      return record(await this.#port.compact(sessionId, { ...config, ...WITHOUT_WAITING }))
    })
  }

  /** Renders and counts, and makes room as long as that helps. */
  async #untilItFits(preparing: Preparing, request: CheckedStats): Promise<Draft> {
    const { options, deadline, prompt, files, auto, tried } = preparing
    const draftNow = (): Promise<Draft> => draftRequest(this.#port.read, preparing, request)
    let draft = await draftNow()
    if (files !== undefined && options.summarizeFile !== undefined) {
      const room = roomForFiles(preparing, draft.snapshot, request)
      await files.summarize(options.summarizeFile, room, questionOf(prompt), deadline)
      draft = await draftNow()
    }
    let attempt: RoomAttempt = { runs: 0, target: draft.stats.availableInputTokens }
    for (let rounds = 1; !draft.stats.withinBudget; rounds++) {
      deadline.throwIfAborted()
      const { stats, snapshot } = draft
      const canShrink = auto && fixedTokens(stats) <= stats.availableInputTokens && stats.messageCount > 0
      const madeRoom =
        canShrink &&
        attempt.runs < MOST_RUNS &&
        (await this.#undisturbed(preparing, async ({ hasWaited }) => {
          // The run that was waited for may have made room.
          const now = hasWaited ? await draftNow() : draft
          return now.stats.withinBudget || this.#escalate(preparing, now, attempt)
        }))
      const next = madeRoom || canShrink ? await draftNow() : draft
      // Others may have changed the session since the draft: what was true of it then says nothing about it now.
      const isOfOthers =
        next.snapshot.position !== snapshot.position || (!madeRoom && !isSameMoment(next, draft))
      if (!madeRoom && (!isOfOthers || rounds >= MOST_ROUNDS)) {
        // Media that must stay are sent: the provider knows its limits best, and an application may have others.
        if (stats.estimatedInputTokens <= stats.availableInputTokens) return draft
        throw exceeded(stats, tried)
      }
      const { availableInputTokens, estimatedInputTokens } = next.stats
      attempt =
        isOfOthers && rounds < MOST_ROUNDS
          ? { runs: 0, target: availableInputTokens }
          : {
              runs: attempt.runs + 1,
              target: attempt.target - Math.max(0, estimatedInputTokens - availableInputTokens),
            }
      draft = next
    }
    return draft
  }

  #undisturbed<T>(
    { sessionId, others }: Pick<Preparing, 'sessionId' | 'others'>,
    work: (others: BesideOthers) => Promise<T>,
  ): Promise<T> {
    const { leftMs, signal } = others
    return this.#port.undisturbed(sessionId, { waitMs: leftMs, signal }, work)
  }

  /**
   * A run without a model, down to what fits: by the session's stages, else by the last resort, unless that is switched off. Only a
   * run that makes the request fit is applied. Returns whether one was.
   */
  async #escalate(
    preparing: Preparing,
    { snapshot, ...draft }: Draft,
    { runs: earlier, target }: RoomAttempt,
  ): Promise<boolean> {
    const { sessionId, options, deadline, runs, tried } = preparing
    const { threshold: _share, thresholdTokens: _tokens, ...pending } = draft.request
    const own = { ...options, compaction: automaticSettings(options.compaction) }
    const last = lastResort(options, snapshot.settings)
    for (const stages of last === undefined ? [undefined] : [undefined, last]) {
      const preview = await this.#port.preview(sessionId, {
        ...runOptions(own, pending),
        ...defined({ stages, signal: deadline.signal }),
        contextWindowTarget: Math.max(1, target),
        target: 1,
        ...WITHOUT_WAITING,
      })
      if (preview === null) return false
      for (const stage of preview.stagesUsed) tried.push(stage)
      if (!preview.fits) continue
      try {
        const run = await this.#port.compact(sessionId, preview)
        if (run !== null) runs.push(run)
        return run?.compacted === true || earlier === 0
      } catch (error) {
        if (isUndertextError(error, 'STALE_PLAN')) return true
        throw error
      }
    }
    return false
  }

  #result(
    { sessionId, options, runs, auto }: Preparing,
    before: Awaited<ReturnType<TurnHooks['before']>>,
    { snapshot, request: _, ...draft }: Draft & { readonly system: string | undefined },
  ): PreparedRequest {
    const { stats } = draft
    const { chosen, position, audit, viewEpoch, settings, cut } = snapshot
    const isFirst = before.stats === null
    const warning = isFirst
      ? this.#port.turns.warn(sessionId, stats, options.warningLevels ?? settings.warningLevels)
      : before.warning
    if (auto) this.#port.offer(sessionId, stats)
    return defined({
      sessionId,
      provider: chosen.provider,
      model: chosen.model,
      injected: before.injected,
      tools: options.tools,
      ...draft,
      cut: cut.length > 0 ? cut : undefined,
      usage: usageOf(stats),
      warning,
      compacted: runs.some(({ compacted }) => compacted),
      run: runs.findLast(({ compacted }) => compacted) ?? runs.at(-1) ?? null,
      runs,
      tokensBefore: isFirst ? stats.estimatedInputTokens : before.tokensBefore,
      tokensAfter: stats.estimatedInputTokens,
      position,
      audit,
      viewEpoch,
      auto,
      contextManagement: before.contextManagement,
    })
  }
}

function isSameMoment({ snapshot: a }: Draft, { snapshot: b }: Draft): boolean {
  return a.position === b.position && a.audit === b.audit
}

/** Throws `REQUEST_INVALID` for a request whose body the provider would refuse. */
function accepted(request: PreparedRequest, bodyOf: CheckedPrepare['validate']): PreparedRequest {
  if (bodyOf === undefined) return request
  const { model, provider, sessionId } = request
  const found = validateRequest(bodyOf(request), provider, defined({ model }))
  if (found.length === 0) return request
  const rules = found.map(({ rule }) => rule)
  throw new UndertextError('REQUEST_INVALID', {
    sessionId,
    provider,
    rules,
    paths: found.map(({ path }) => path),
  })
}

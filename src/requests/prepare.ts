import type { Compactor } from '../compaction/compactor.ts'
import type { CompactionPreview, CompactionResult } from '../compaction/result.ts'
import type { ContextStats } from '../compaction/stats.ts'
import { PREPARE_WAIT_MS } from '../compaction/waiting.ts'
import type { CompactOptions, StatsOptions } from '../config/store-options.ts'
import { isUndertextError } from '../errors.ts'
import type { ContextWarningEvent } from '../events.ts'
import type { NewMessage } from '../messages/message.ts'
import {
  type Asked,
  bareStats,
  draftRequest,
  type Made,
  type ReadWorld,
  requestOf,
  roomFor,
} from './draft-request.ts'
import { RequestFiles } from './files.ts'
import type { CheckedPrepare } from './options.ts'
import { OUT_OF_TIME, Patience } from './patience.ts'
import { exceeded, type PreparedRequest } from './prepared.ts'
import { questionOf } from './prompt.ts'
import { downTo, fixedTokens, stagesFor, WITHOUT_WAITING } from './room.ts'
import { type BeforeTurnResult, type TurnHooks, usageOf } from './turn-hooks.ts'
import { promptTokens, type World } from './world.ts'

/** Share of what is left to wait that a summarizer may take: the rest is for going on without it. */
const SUMMARIZER_SHARE = 0.9
/** Most runs that bring one request down to what fits; each must have made it smaller. */
const MOST_RUNS = 4

/** What preparing needs of a store. */
type PreparePort = {
  readonly turns: Pick<TurnHooks, 'before' | 'warn'>
  readonly read: ReadWorld
  readonly compact: (
    sessionId: string,
    config: CompactOptions | CompactionPreview,
  ) => Promise<CompactionResult | null>
  readonly preview: (sessionId: string, config: CompactOptions) => Promise<CompactionPreview | null>
  /** Works while nobody else is paid for a summary of the session, after waiting for those who are. */
  readonly undisturbed: Compactor['undisturbed']
  /** Waits for work in the background. */
  readonly settle: (sessionId: string, waitMs: number, signal: AbortSignal | undefined) => Promise<unknown>
  readonly offer: (sessionId: string, stats: ContextStats) => void
}

/** A request on its way: what it was asked with, and what came of it so far. */
type Preparing = Asked & {
  readonly patience: Patience
  readonly auto: boolean
  readonly runs: CompactionResult[]
  /** Stages that were tried, with or without success. */
  readonly tried: string[]
}

/** Prepares requests: looks, makes room, renders, counts, and refuses what does not fit. */
export class RequestPreparer {
  readonly #port: PreparePort

  constructor(port: PreparePort) {
    this.#port = port
  }

  /** `isDueIgnored`: room is made only for what does not fit, whatever the threshold says. */
  async prepare(
    sessionId: string,
    options: CheckedPrepare,
    prompt: readonly NewMessage[],
    isDueIgnored = false,
  ): Promise<PreparedRequest> {
    const patience = new Patience(sessionId, options.waitMs ?? PREPARE_WAIT_MS, options.signal)
    const world = await this.#port.read(sessionId, options.provider, options.model)
    const { estimator, chosen, settings } = world
    const preparing: Preparing = {
      sessionId,
      options,
      prompt,
      patience,
      files:
        options.files === undefined || options.files.length === 0
          ? undefined
          : new RequestFiles(options.files, { estimator, provider: chosen.key }),
      auto: (options.auto ?? settings.auto) && settings.enabled,
      runs: [],
      tried: [],
    }
    const before = await this.#before(preparing, world, isDueIgnored)
    const request = requestOf(options, before.systemPrompt)
    const made = await this.#untilItFits(preparing, request)
    return this.#answer(preparing, before, made)
  }

  /** The hooks' part: how full the context is, a warning, a compaction when that is due. */
  async #before(preparing: Preparing, world: World, isDueIgnored: boolean): Promise<BeforeTurnResult> {
    const { sessionId, options, prompt, files, auto } = preparing
    const bare = promptTokens(world, prompt)
    const request = requestOf(options, options.system)
    const filesTokens =
      files?.tokensIn(roomFor(preparing, world, world.stats({ ...request, pendingTokens: bare }))) ?? 0
    return this.#port.turns.before(
      sessionId,
      {
        ...request,
        pendingTokens: bare + filesTokens,
        provider: options.provider,
        model: options.model,
        auto: auto && !isDueIgnored,
        warningLevels: options.warningLevels,
        injector: options.injector,
        turnNumber: options.turnNumber,
        persistentContext: options.persistentContext,
        compaction: options.compaction,
      },
      (config, look) => this.#makeRoom(preparing, world, config, look),
    )
  }

  /**
   * A run when it is still due after what goes on in the background is over. Models and other runs are waited for only so long:
   * then room is made by the stages that need no model. Source: checklist F4-06.
   */
  async #makeRoom(
    { sessionId, options, patience, runs, tried }: Preparing,
    { settings }: World,
    config: CompactOptions,
    look: () => Promise<ContextStats | null>,
  ): Promise<CompactionResult | null> {
    const isDue = async (): Promise<boolean> => {
      patience.throwIfAborted()
      const stats = await look()
      // What is too large by itself is refused: hiding the history would be for nothing.
      return stats?.shouldCompact === true && fixedTokens(stats) <= stats.availableInputTokens
    }
    const done = (run: CompactionResult | null): CompactionResult | null => {
      if (run !== null) runs.push(run)
      if (run !== null) tried.push(...run.stagesUsed)
      return run
    }
    if (patience.leftMs > 0) await this.#port.settle(sessionId, patience.leftMs, patience.signal)
    if (!(await isDue())) return null
    const { compaction } = options
    if (patience.leftMs > 0) {
      const { leftMs } = patience
      const summaryMs = compaction?.summaryTimeoutMs ?? settings.summaryTimeoutMs ?? leftMs
      const answer = await patience
        .within((signal) =>
          this.#port.compact(sessionId, {
            whenBusy: 'withoutModel',
            ...config,
            waitMs: Math.min(compaction?.waitMs ?? leftMs, leftMs),
            summaryTimeoutMs: Math.max(1, Math.min(summaryMs, Math.floor(leftMs * SUMMARIZER_SHARE))),
            signal: config.signal === undefined ? signal : AbortSignal.any([signal, config.signal]),
          }),
        )
        .catch((error: unknown) => {
          // Somebody else changed the view meanwhile: look again.
          if (isUndertextError(error, 'STALE_PLAN')) return OUT_OF_TIME
          throw error
        })
      if (typeof answer !== 'symbol') return done(answer)
      if (!(await isDue())) return null
    }
    return this.#undisturbed({ sessionId, patience }, async (hasWaited) => {
      if (hasWaited && !(await isDue())) return null
      return done(await this.#port.compact(sessionId, { ...config, ...WITHOUT_WAITING }))
    })
  }

  /** Renders and counts, and makes room as long as that helps. */
  async #untilItFits(preparing: Preparing, request: StatsOptions): Promise<Made> {
    const { options, patience, prompt, files, auto, tried } = preparing
    let made = await draftRequest(this.#port.read, preparing, request)
    if (files !== undefined && options.summarizeFile !== undefined) {
      const room = roomFor(preparing, made.world, bareStats(preparing, made.world, request))
      await files.summarize(options.summarizeFile, room, questionOf(prompt), patience)
      made = await draftRequest(this.#port.read, preparing, request)
    }
    for (let runs = 0; !made.draft.stats.withinBudget; runs++) {
      patience.throwIfAborted()
      const helped = auto && runs < MOST_RUNS && (await this.#helped(preparing, request, made, runs > 0))
      if (!helped) throw exceeded(made.draft.stats, tried)
      made = await draftRequest(this.#port.read, preparing, request)
    }
    return made
  }

  /** Makes room without a model. Whoever is being paid for it may have made it: that is waited for first. */
  async #helped(preparing: Preparing, request: StatsOptions, made: Made, isAgain: boolean): Promise<boolean> {
    const { stats } = made.draft
    if (fixedTokens(stats) > stats.availableInputTokens || stats.messageCount === 0) return false
    return this.#undisturbed(preparing, async (hasWaited) => {
      if (!hasWaited) return this.#escalate(preparing, made, isAgain)
      const now = await draftRequest(this.#port.read, preparing, request)
      return now.draft.stats.withinBudget || this.#escalate(preparing, now, isAgain)
    })
  }

  #undisturbed<T>(
    { sessionId, patience }: Pick<Preparing, 'sessionId' | 'patience'>,
    work: (hasWaited: boolean) => Promise<T>,
  ): Promise<T> {
    const { leftMs, signal } = patience
    return this.#port.undisturbed(sessionId, { waitMs: leftMs, signal }, work)
  }

  /**
   * A run that asks no model, down to what fits: by the session's stages, else by hiding the oldest turns and cutting contents, unless
   * that is switched off. Only what makes the request fit is put in force. Answers whether anything was.
   */
  async #escalate(preparing: Preparing, { world, draft }: Made, isAgain: boolean): Promise<boolean> {
    const { sessionId, options, patience, runs, tried } = preparing
    const { stats } = draft
    const over = stats.estimatedInputTokens - stats.availableInputTokens
    // A second time the planner saw it otherwise: by what it was wrong it aims lower.
    const most = Math.max(1, stats.availableInputTokens - (isAgain ? over : 0))
    for (const stages of stagesFor(options, world)) {
      const config = downTo(most, options, draft.request, stages, patience.signal)
      const preview = await this.#port.preview(sessionId, config)
      if (preview === null) return false
      tried.push(...preview.stagesUsed)
      if (!preview.fits) continue
      try {
        const run = await this.#port.compact(sessionId, preview)
        if (run !== null) runs.push(run)
        return run?.compacted === true || !isAgain
      } catch (error) {
        if (isUndertextError(error, 'STALE_PLAN')) return true
        throw error
      }
    }
    return false
  }

  #answer(
    { sessionId, options, runs, auto }: Preparing,
    before: BeforeTurnResult,
    { world, draft, prompt, files }: Made,
  ): PreparedRequest {
    const { stats } = draft
    const { chosen, position, viewEpoch, settings } = world
    const isFirst = before.stats === null
    const warning: ContextWarningEvent | null = isFirst
      ? this.#port.turns.warn(sessionId, stats, options.warningLevels ?? settings.warningLevels)
      : before.warning
    if (auto) this.#port.offer(sessionId, stats)
    return {
      sessionId,
      provider: chosen.provider,
      ...(chosen.model !== undefined && { model: chosen.model }),
      ...(before.systemPrompt !== undefined && { system: before.systemPrompt }),
      injected: before.injected,
      ...(options.tools !== undefined && { tools: options.tools }),
      messages: draft.messages,
      mends: draft.mends,
      prompt,
      ...(files !== undefined && { files }),
      stats,
      usage: usageOf(stats),
      warning,
      compacted: runs.some(({ compacted }) => compacted),
      run: runs.findLast(({ compacted }) => compacted) ?? runs.at(-1) ?? null,
      runs,
      tokensBefore: isFirst ? stats.estimatedInputTokens : before.tokensBefore,
      tokensAfter: stats.estimatedInputTokens,
      position,
      viewEpoch,
      auto,
      pendingTokens: draft.pendingTokens,
      ...(before.contextManagement !== undefined && { contextManagement: before.contextManagement }),
    }
  }
}

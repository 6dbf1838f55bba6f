import type { Compactor } from '../compaction/compactor.ts'
import type { CompactionPreview } from '../compaction/preview.ts'
import type { CompactionResult } from '../compaction/result.ts'
import { RENDERING_KEYS } from '../config/settings.ts'
import type { NewMessage } from '../core/message.ts'
import type { RenderOptions } from '../core/render.ts'
import { isUndertextError } from '../errors.ts'
import type { ContextWarningEvent } from '../events.ts'
import type { ContextStats } from '../stats.ts'
import type { CompactOptions, StatsOptions } from '../store-options.ts'
import { type BeforeTurnResult, type TurnHooks, usageOf } from '../turn/turn-hooks.ts'
import { fileRoom, RequestFiles } from './files.ts'
import type { CheckedPrepare } from './options.ts'
import { OUT_OF_TIME, Patience } from './patience.ts'
import { exceeded, type PreparedFiles, type PreparedRequest } from './prepared.ts'
import { questionOf, withSection } from './prompt.ts'
import { lastResort, ownRun, WITHOUT_WAITING } from './room.ts'
import { type Draft, drafted, promptTokens, type World } from './world.ts'

/**
 * How long models and other runs are waited for before a request, milliseconds: as long as one summary may take. Source: checklist
 * S3-U04.
 */
export const PREPARE_WAIT_MS = 120_000
/** Share of what is left to wait that a summarizer may take: the rest is for going on without it. */
const SUMMARIZER_SHARE = 0.9
/** Most runs that bring one request down to what fits; each must have made it smaller. */
const MOST_RUNS = 4

/** What preparing needs of a store. */
export type PreparePort = {
  readonly turns: Pick<TurnHooks, 'before' | 'warn'>
  /** A session at one moment. */
  readonly read: (
    sessionId: string,
    provider: string | undefined,
    model: string | undefined,
  ) => Promise<World>
  readonly compact: (
    sessionId: string,
    config: CompactOptions | CompactionPreview,
  ) => Promise<CompactionResult | null>
  readonly preview: (sessionId: string, config: CompactOptions) => Promise<CompactionPreview | null>
  /** Works while nobody else is paid for a summary of the session, after waiting for those who are. */
  readonly undisturbed: Compactor['undisturbed']
  /** Waits for work in the background. */
  readonly settle: (sessionId: string, waitMs: number, signal: AbortSignal | undefined) => Promise<boolean>
  readonly offer: (sessionId: string, stats: ContextStats) => void
}

/** A request on its way: what it was asked with, and what came of it so far. */
type Preparing = {
  readonly sessionId: string
  readonly options: CheckedPrepare
  readonly prompt: readonly NewMessage[]
  readonly patience: Patience
  readonly files: RequestFiles | undefined
  readonly auto: boolean
  readonly runs: CompactionResult[]
  /** Stages that were tried, with or without success. */
  readonly tried: string[]
}

/** What a draft was made of. */
type Made = {
  readonly world: World
  readonly draft: Draft
  readonly prompt: readonly NewMessage[]
  readonly files: PreparedFiles | undefined
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
    let made = await this.#draft(preparing, request)
    if (files !== undefined && options.summarizeFile !== undefined) {
      const room = roomFor(preparing, made.world, bareStats(preparing, made.world, request))
      await files.summarize(options.summarizeFile, room, questionOf(prompt), patience)
      made = await this.#draft(preparing, request)
    }
    for (let runs = 0; !made.draft.stats.withinBudget; runs++) {
      patience.throwIfAborted()
      const helped = auto && runs < MOST_RUNS && (await this.#helped(preparing, request, made, runs > 0))
      if (!helped) throw exceeded(made.draft.stats, tried)
      made = await this.#draft(preparing, request)
    }
    return made
  }

  /** One consistent reading, rendered and counted; files are fitted to what it leaves. */
  async #draft(preparing: Preparing, request: StatsOptions): Promise<Made> {
    const { sessionId, options, files } = preparing
    const world = await this.#port.read(sessionId, options.provider, options.model)
    const going = { request, rendering: renderingOf(options) }
    if (files === undefined) {
      const { prompt } = preparing
      return { world, draft: drafted(world, { ...going, prompt, section: '' }), prompt, files: undefined }
    }
    let room = roomFor(preparing, world, bareStats(preparing, world, request))
    for (let attempt = 1; ; attempt++) {
      const fitted = files.fit(room)
      const prompt = withSection(preparing.prompt, fitted.section)
      const draft = drafted(world, { ...going, prompt, section: fitted.section })
      const over = draft.stats.estimatedInputTokens - draft.stats.availableInputTokens
      if (over <= 0) return { world, draft, prompt, files: fitted.files }
      // Not even the lines that say what was left out have room: the answer says it.
      if (room === 0) {
        const bare = drafted(world, { ...going, prompt: preparing.prompt, section: '' })
        return {
          world,
          draft: bare,
          prompt: preparing.prompt,
          files: { ...NO_FILES, ...droppedOf(fitted.files) },
        }
      }
      // The lines around the files take room too, and what is rendered may be longer than what is stored.
      room = attempt < MOST_FITTINGS ? Math.max(0, Math.min(room - 1, fitted.files.tokens - over)) : 0
    }
  }

  /** Makes room without a model. Whoever is being paid for it may have made it: that is waited for first. */
  async #helped(preparing: Preparing, request: StatsOptions, made: Made, isAgain: boolean): Promise<boolean> {
    const { stats } = made.draft
    if (fixedTokens(stats) > stats.availableInputTokens || stats.messageCount === 0) return false
    return this.#undisturbed(preparing, async (hasWaited) => {
      if (!hasWaited) return this.#escalate(preparing, made, isAgain)
      const now = await this.#draft(preparing, request)
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
    { sessionId, options, runs }: Preparing,
    before: BeforeTurnResult,
    { world, draft, prompt, files }: Made,
  ): PreparedRequest {
    const { stats } = draft
    const { chosen, position, viewEpoch, settings } = world
    const isFirst = before.stats === null
    const warning: ContextWarningEvent | null = isFirst
      ? this.#port.turns.warn(sessionId, stats, options.warningLevels ?? settings.warningLevels)
      : before.warning
    this.#port.offer(sessionId, stats)
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
      pendingTokens: draft.pendingTokens,
      ...(before.contextManagement !== undefined && { contextManagement: before.contextManagement }),
    }
  }
}

const NO_FILES = { included: [], budgetTokens: 0, tokens: 0 } as const

function droppedOf({
  included,
  dropped,
  notices,
}: PreparedFiles): Pick<PreparedFiles, 'dropped' | 'notices'> {
  const all = [
    ...included.map((file) => ({ ...file, content: '', how: 'dropped' as const, tokensAfter: 0 })),
    ...dropped,
  ]
  return { dropped: all.toSorted((a, b) => a.index - b.index), notices }
}

/** How often files are made smaller for the lines around them before they are left out. */
const MOST_FITTINGS = 8

/** What the request holds besides history and prompt. */
function requestOf(options: CheckedPrepare, systemPrompt: string | undefined): StatsOptions {
  const { tools, maxOutputTokens, contextWindowTarget, threshold } = options
  return {
    ...(systemPrompt !== undefined && { systemPrompt }),
    ...(tools !== undefined && { toolDefinitions: [...tools] }),
    ...(maxOutputTokens !== undefined && { maxTokens: maxOutputTokens }),
    ...(contextWindowTarget !== undefined && { contextWindowTarget }),
    ...(threshold !== undefined && { threshold }),
  }
}

function renderingOf(options: CheckedPrepare): Partial<RenderOptions> {
  const { preset, pendingCalls } = options
  const said = RENDERING_KEYS.filter((name) => options[name] !== undefined)
  return {
    ...Object.fromEntries(said.map((name) => [name, options[name]])),
    ...(preset !== undefined && { preset }),
    ...(pendingCalls !== undefined && { pendingCalls }),
  }
}

/** What of a request no shorter history changes, as far as it is known, tokens. */
function fixedTokens({ breakdown }: ContextStats): number {
  const { systemPrompt, currentPrompt, toolDefinitions, fileAttachments } = breakdown
  return systemPrompt + currentPrompt + toolDefinitions + fileAttachments
}

/** The stats of a request without its files. */
function bareStats({ prompt }: Preparing, world: World, request: StatsOptions): ContextStats {
  return world.stats({ ...request, pendingTokens: promptTokens(world, prompt) })
}

function roomFor({ options }: Preparing, { settings }: World, stats: ContextStats): number {
  return fileRoom(stats, settings.fileReadBudgetPercent, options.summarizeFile !== undefined)
}

/** What may bring a request down to what fits, in the order it is tried; `undefined` are the session's own stages. */
function stagesFor(options: CheckedPrepare, { settings }: World): CompactOptions['stages'][] {
  const last = lastResort(options, settings)
  return last === undefined ? [undefined] : [undefined, last]
}

/** What a run is told that brings a whole request down to so many tokens without asking anybody. */
function downTo(
  tokens: number,
  { compaction, provider, model }: CheckedPrepare,
  { threshold: _share, thresholdTokens: _tokens, ...pending }: StatsOptions,
  stages: CompactOptions['stages'],
  signal: AbortSignal | undefined,
): CompactOptions {
  return {
    trigger: 'auto',
    ...ownRun(compaction),
    ...(provider !== undefined && { provider }),
    ...(model !== undefined && { model }),
    ...pending,
    ...(stages !== undefined && { stages }),
    ...(signal !== undefined && { signal }),
    contextWindowTarget: tokens,
    target: 1,
    ...WITHOUT_WAITING,
  }
}

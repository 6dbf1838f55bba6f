import { invalid, isUndertextError, UndertextError } from '../../core/errors.ts'
import { readable } from '../../core/messages/check.ts'
import type { Json, JsonObject } from '../../core/messages/json.ts'
import { defined } from '../../core/messages/json.ts'
import { isBlankMessage, type NewMessage } from '../../core/messages/message.ts'
import { checkMessages } from '../../core/messages/message-check.ts'
import { wellFormed } from '../../core/messages/well-formed.ts'
import { CONTINUATION_TEXT } from '../../core/rendering/contents.ts'
import { validateRequest } from '../../core/validity/validate-request.ts'
import type { BesideOthers } from '../compaction/compactor.ts'
import type { CompactionResult } from '../compaction/result.ts'
import type { ContextStats } from '../compaction/stats.ts'
import { LeaseTaken, OTHERS_WAIT_MS, PREPARE_WAIT_MS } from '../compaction/waiting.ts'
import type { CheckedStats, CompactOptions } from '../config/store-options.ts'
import type { StoreContext } from '../context.ts'
import type { ContextWarningEvent } from '../events.ts'
import { notesForRequest } from '../notes.ts'
import { readSnapshot } from '../requests.ts'
import type { Services } from '../services.ts'
import {
  type AddedTexts,
  type Draft,
  draftFrom,
  promptMessages,
  promptSize,
  questionOf,
  type RequestParts,
  roomForFiles,
  type SessionSnapshot,
} from './draft.ts'
import { RequestFiles } from './files.ts'
import {
  type CheckedAfter,
  type CheckedBefore,
  type CheckedPrepare,
  requestParts,
  runOptions,
} from './options.ts'
import { exceeded, type PreparedRequest, type TurnUsage } from './prepared.ts'
import { changedFrame } from './reasoning.ts'
import { automaticSettings, Deadline, fixedTokens, lastResort, TIMED_OUT, WITHOUT_WAITING } from './room.ts'
import { usageOf } from './warnings.ts'

/** Share of the remaining time that a summarizer may take; the rest is for a run without it. */
const SUMMARIZER_SHARE = 0.9
/** Maximum number of runs to make one request fit; each must have made it smaller. */
const MAX_RUNS = 4
/** Number of changes by others after which a change no longer resets the count of runs. */
const MAX_RESETS = 50

type Preparing = RequestParts & {
  readonly services: Services
  readonly deadline: Deadline
  /** The end of the waits for other runs: earlier than `deadline`, unless the caller sets it. */
  readonly others: Deadline
  readonly auto: boolean
  readonly runs: CompactionResult[]
  /** The stages that were tried, successfully or not. */
  readonly tried: string[]
}

/** The attempts to make a request fit since others last changed the session. */
type RoomAttempt = {
  readonly runs: number
  /** Tokens to aim for: the available tokens, less the amount by which the planner's estimates were too low. */
  readonly target: number
}

/** The outcome of a method before or after a turn. */
export type TurnOutcome = {
  readonly sessionId: string
  /** How full the context is now; `null` for a session without messages. */
  readonly usage: TurnUsage | null
  readonly stats: ContextStats | null
  /** Whether the history was compacted. */
  readonly compacted: boolean
  /** Tokens of the request before and after; equal if nothing was compacted. */
  readonly tokensBefore: number
  readonly tokensAfter: number
  /** The compaction's result, if one was due. */
  readonly run: CompactionResult | null
  /** Present if the threshold is reached and no run follows, because a user undid an automatic compaction. */
  readonly heldBack?: true
}

/** Makes room for a request if necessary. `look` returns the current stats, which include the results of other runs. */
type MakeRoom = (
  config: CompactOptions,
  look: () => Promise<ContextStats | null>,
) => Promise<CompactionResult | null>

/** The result of `beforeTurn`. */
export type BeforeTurnResult = TurnOutcome & {
  /** The system prompt for this request; absent if it is empty. */
  readonly systemPrompt?: string
  /**
   * For a model that binds its reasoning to what precedes it, in place of texts in the system prompt: a message with the persistent context
   * and the injector's texts, unless the history already contains them. Append it before the request, and send it.
   */
  readonly added?: NewMessage
  /** The injector's texts in the request. */
  readonly injected: readonly string[]
  /** The warning that was emitted. */
  readonly warning: ContextWarningEvent | null
  /** The setting of that name, unchanged, for the request: what the provider itself should compact. */
  readonly contextManagement?: JsonObject | readonly Json[]
}

/** The result of `beforeTurn`, and the texts in the system prompt besides the caller's own. */
export type Before = Omit<BeforeTurnResult, 'added'> & { readonly texts: AddedTexts }

/** Estimates, warns, and makes room if necessary. */
export async function beforeRequest(
  services: Services,
  sessionId: string,
  options: CheckedBefore,
  makeRoom: MakeRoom,
): Promise<Before> {
  const { warnings } = services
  const context = options.persistentContext?.render() ?? ''
  const base = { ...options, system: joinTexts([options.system, context]) }
  const settings = await services.settingsOf(sessionId)
  let request = await withInjected(services, sessionId, base)
  const { stats } = request
  const warning = stats && warnings.warn(sessionId, stats, options.warningLevels ?? settings.warningLevels)
  let run: CompactionResult | null = null
  if ((options.auto ?? settings.auto) && stats?.shouldCompact) {
    const { turn } = request
    run = await makeRoom(runOptions(turn, pendingOf(turn)), () => turnStats(services, sessionId, turn))
    // The injector's texts are for the request that is sent, not for one that was too long.
    request = await withInjected(services, sessionId, base)
    warnings.fell(sessionId, usageOf(request.stats ?? stats).ratio)
  }
  return {
    ...outcomeOf(sessionId, stats, request.stats, run),
    injected: request.injected,
    texts: wellFormed({ context, injected: joinTexts(request.injected) ?? '', turn: options.turnNumber }),
    ...defined({
      systemPrompt: wellFormed(request.turn.system),
      contextManagement: settings.contextManagement,
    }),
    warning,
  }
}

async function withInjected(services: Services, sessionId: string, turn: CheckedBefore) {
  const stats = await turnStats(services, sessionId, turn)
  const { injector, turnNumber = 0 } = turn
  const injected = injector?.check(turnNumber, stats?.estimatedInputTokens ?? 0) ?? []
  const system = joinTexts([turn.system, ...injected])
  if (system === turn.system) return { turn, stats, injected }
  const full = { ...turn, system }
  return { turn: full, stats: stats && (await turnStats(services, sessionId, full)), injected }
}

/**
 * Returns the messages of a prompt, checked as in `append`. Throws `INVALID_INPUT`, also for a blank user message without files, because it
 * wouldn't be sent.
 */
export function checkPrompt({
  prompt,
  files = [],
}: Pick<CheckedPrepare, 'prompt' | 'files'>): readonly NewMessage[] {
  const messages = readable('prompt', () => promptMessages(prompt))
  if (messages.length > 0) checkMessages(messages, 'prompt')
  const isSilent =
    files.length === 0 && messages.some(({ role }) => role === 'user') && messages.every(isBlankMessage)
  if (isSilent)
    throw invalid('prompt: must have a text that is not blank, or another part; omit an empty prompt')
  return messages
}

/**
 * Prepares a request: counts, makes room, renders, and throws if the request doesn't fit. With `ignoresThreshold`, it makes room only if
 * the request doesn't fit.
 */
export async function prepareRequest(
  services: Services,
  sessionId: string,
  options: CheckedPrepare,
  prompt: readonly NewMessage[],
  ignoresThreshold = false,
): Promise<PreparedRequest> {
  const { context } = services
  // Notes go into the system prompt as a section, as with a persistent context.
  const section = await notesForRequest(context, sessionId, options)
  const render = (): string => joinTexts([options.persistentContext?.render(), section?.text]) ?? ''
  const request = await prepared(
    services,
    sessionId,
    section === undefined ? options : { ...options, persistentContext: { render } },
    prompt,
    ignoresThreshold,
  )
  context.warnOfWindow(sessionId, request.stats)
  return section === undefined ? request : { ...request, notes: section.notes }
}

async function prepared(
  services: Services,
  sessionId: string,
  options: CheckedPrepare,
  prompt: readonly NewMessage[],
  ignoresThreshold: boolean,
): Promise<PreparedRequest> {
  const { waitMs = PREPARE_WAIT_MS, signal } = options
  const deadline = new Deadline(sessionId, waitMs, signal)
  const othersMs = options.compaction?.waitMs ?? options.waitMs ?? OTHERS_WAIT_MS
  const others = new Deadline(sessionId, Math.min(othersMs, waitMs), signal)
  const snapshot = await readSnapshot(services.context, sessionId, options.provider, options.model)
  const { estimator, chosen, settings } = snapshot
  const preparing: Preparing = {
    services,
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
  const before = await beforeFirst(preparing, snapshot, ignoresThreshold)
  // If the reasoning is bound to what precedes it, the system prompt stays as it is.
  const binds = snapshot.reasoning !== undefined
  const added = binds ? before.texts : undefined
  const system = binds ? wellFormed(options.system) || undefined : before.systemPrompt
  const draft = await fitRequest({ ...preparing, added }, requestParts({ ...options, system }))
  const isEmpty = draft.messages.every(
    ({ role, content }) => role === 'system' || content === CONTINUATION_TEXT,
  )
  if (isEmpty && draft.snapshot.view.length + prompt.length > 0)
    throw invalid('the request has no message to send: append one, or pass a prompt that is not blank')
  return accepted(resultOf(preparing, before, { ...draft, system }), options.validate)
}

/** Returns the stats of a session with the request of a turn. */
export async function turnStats(
  { context }: Services,
  sessionId: string,
  turn: CheckedBefore | CheckedAfter,
): Promise<ContextStats | null> {
  const { provider, model, threshold } = turn
  return context.stats(sessionId, provider, model, { ...pendingOf(turn), ...defined({ threshold }) })
}

/** Returns the request without the history. */
export function pendingOf(turn: CheckedBefore | CheckedAfter): CheckedStats {
  const { contextWindowTarget, maxOutputTokens, system, prompt, tools, files } = turn
  const { pendingTokens, pendingMedia } = turn
  return defined({
    ...{ contextWindowTarget, maxOutputTokens, system, prompt, tools, files },
    ...{ pendingTokens, pendingMedia },
  })
}

/** `first` are the stats before a run, `stats` those after it; a session without messages has none. */
export function outcomeOf(
  sessionId: string,
  first: ContextStats | null,
  stats: ContextStats | null,
  run: CompactionResult | null,
): TurnOutcome {
  const last = stats ?? first
  const usage = last && usageOf(last)
  return {
    sessionId,
    usage,
    stats,
    compacted: run?.compacted ?? false,
    tokensBefore: first?.estimatedInputTokens ?? 0,
    tokensAfter: usage?.tokens ?? 0,
    run,
    ...(stats?.heldBack === true && { heldBack: true as const }),
  }
}

/** Returns how full the context is, warns, and compacts if that is due, as `beforeTurn` does. */
async function beforeFirst(
  preparing: Preparing,
  snapshot: SessionSnapshot,
  ignoresThreshold: boolean,
): Promise<Before> {
  const { services, sessionId, options, prompt, files, auto } = preparing
  const request = requestParts(options)
  const own = promptSize(snapshot, prompt)
  const fileTokens = files?.tokensIn(roomForFiles(preparing, snapshot, request)) ?? 0
  const { provider, model, warningLevels, injector, turnNumber, persistentContext, compaction } = options
  return beforeRequest(
    services,
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
    (config, look) => makeRoom(preparing, snapshot, config, look),
  )
}

/**
 * Compacts if that is still due after background work is done. If the time for models is over, the stages that need no model make room. If
 * another run is active and the request fits, nothing is done: the summary of that run would become stale.
 */
async function makeRoom(
  { services, sessionId, options, deadline, others, runs, tried }: Preparing,
  { settings }: SessionSnapshot,
  config: CompactOptions,
  look: () => Promise<ContextStats | null>,
): Promise<CompactionResult | null> {
  const isDue = async (isBeside = false): Promise<boolean> => {
    deadline.throwIfAborted()
    const stats = await look()
    if (stats?.shouldCompact !== true || (isBeside && stats.withinBudget)) return false
    // A request that is too large without its history can't be helped by hiding the history.
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
    await services.background.settle(sessionId, deadline.leftMs, deadline.signal, others.leftMs)
  if (!(await isDue())) return null
  const { compaction } = options
  const { leftMs } = deadline
  if (leftMs > 0) {
    const summaryMs = compaction?.summaryTimeoutMs ?? settings.summaryTimeoutMs ?? leftMs
    const run = await deadline
      .within((signal) =>
        services.compact(sessionId, {
          ...config,
          waitMs: others.leftMs,
          summaryTimeoutMs: Math.max(1, Math.min(summaryMs, Math.floor(leftMs * SUMMARIZER_SHARE))),
          signal: config.signal === undefined ? signal : AbortSignal.any([signal, config.signal]),
        }),
      )
      .catch((error: unknown) => {
        // Another caller changed the view in the meantime, or is still at work: look again.
        const isBusy = error instanceof LeaseTaken && compaction?.whenBusy === undefined
        if (isBusy || isUndertextError(error, 'STALE_PLAN')) return TIMED_OUT
        throw error
      })
    if (typeof run !== 'symbol') return record(run)
    if (!(await isDue())) return null
  }
  return undisturbed({ services, sessionId, others }, async ({ hasWaited, isBeside }) => {
    if ((hasWaited || isBeside) && !(await isDue(isBeside))) return null
    return record(await services.compact(sessionId, { ...config, ...WITHOUT_WAITING }))
  })
}

/** Reads the session once, or twice if all of its reasoning is needed; renders and counts; fits the files to the remaining room. */
async function draftRequest(
  context: StoreContext,
  parts: RequestParts,
  request: CheckedStats,
): Promise<Draft> {
  const { sessionId, options } = parts
  const read = async (whole: boolean): Promise<Omit<Draft, 'changed'> | undefined> => {
    const snapshot = await readSnapshot(context, sessionId, options.provider, options.model, { whole })
    return context.rendered(() => draftFrom(snapshot, parts, request))
  }
  const draft = (await read(false)) ?? (await read(true))!
  return { ...draft, changed: changedFrame(draft) }
}

/** Renders and counts, and makes room as long as that helps. */
async function fitRequest(preparing: Preparing, request: CheckedStats): Promise<Draft> {
  const { services, options, deadline, prompt, files, auto, tried } = preparing
  const draftNow = (): Promise<Draft> => draftRequest(services.context, preparing, request)
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
      attempt.runs < MAX_RUNS &&
      (await undisturbed(preparing, async ({ hasWaited }) => {
        // The other run may have made room.
        const now = hasWaited ? await draftNow() : draft
        return now.stats.withinBudget || escalate(preparing, now, attempt)
      }))
    const next = madeRoom || canShrink ? await draftNow() : draft
    // Others may have changed the session since the draft: earlier attempts then prove nothing about its current state.
    const isOfOthers =
      next.snapshot.position !== snapshot.position || (!madeRoom && !isSameMoment(next, draft))
    if (!madeRoom && (!isOfOthers || rounds >= MAX_RESETS)) {
      // Media that must stay are sent: the provider knows its limits best, and an application may have different ones.
      if (stats.estimatedInputTokens <= stats.availableInputTokens) return draft
      throw exceeded(stats, tried)
    }
    const { availableInputTokens, estimatedInputTokens } = next.stats
    attempt =
      isOfOthers && rounds < MAX_RESETS
        ? { runs: 0, target: availableInputTokens }
        : {
            runs: attempt.runs + 1,
            target: attempt.target - Math.max(0, estimatedInputTokens - availableInputTokens),
          }
    draft = next
  }
  return draft
}

function undisturbed<T>(
  { services, sessionId, others }: Pick<Preparing, 'services' | 'sessionId' | 'others'>,
  work: (others: BesideOthers) => Promise<T>,
): Promise<T> {
  const { leftMs, signal } = others
  return services.compactor.undisturbed(sessionId, { waitMs: leftMs, signal }, work)
}

/**
 * Runs a compaction without a model until the request fits: with the session's stages, else with the last resort, unless that is switched
 * off. A run is applied only if it makes the request fit. Returns whether one was.
 */
async function escalate(
  preparing: Preparing,
  { snapshot, ...draft }: Draft,
  { runs: earlier, target }: RoomAttempt,
): Promise<boolean> {
  const { services, sessionId, options, deadline, runs, tried } = preparing
  const { threshold: _share, thresholdTokens: _tokens, ...pending } = draft.request
  const own = { ...options, compaction: automaticSettings(options.compaction) }
  const last = lastResort(options, snapshot.settings)
  for (const stages of last === undefined ? [undefined] : [undefined, last]) {
    const preview = await services.preview(sessionId, {
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
      const run = await services.compact(sessionId, preview)
      if (run !== null) runs.push(run)
      return run?.compacted === true || earlier === 0
    } catch (error) {
      if (isUndertextError(error, 'STALE_PLAN')) return true
      throw error
    }
  }
  return false
}

function resultOf(
  { services, sessionId, options, runs, auto }: Preparing,
  before: Before,
  { snapshot, request: _, ...draft }: Draft & { readonly system: string | undefined },
): PreparedRequest {
  const { stats } = draft
  const { chosen, position, audit, viewEpoch, settings, cut } = snapshot
  const isFirst = before.stats === null
  const warning = isFirst
    ? services.warnings.warn(sessionId, stats, options.warningLevels ?? settings.warningLevels)
    : before.warning
  if (auto) services.background.offer(sessionId, stats)
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

function isSameMoment({ snapshot: a }: Draft, { snapshot: b }: Draft): boolean {
  return a.position === b.position && a.audit === b.audit
}

/** Throws `REQUEST_INVALID` if the provider would reject the request's body. */
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

/** Joins texts with an empty line between them; `undefined` if there are none. */
function joinTexts(texts: readonly (string | undefined)[]): string | undefined {
  const some = texts.filter((text) => text !== undefined && text !== '')
  return some.length === 0 ? undefined : some.join('\n\n')
}

import { invalid, isUndertextError, UndertextError } from '../core/errors.ts'
import { check, readable } from '../core/messages/check.ts'
import { defined } from '../core/messages/json.ts'
import { isBlankMessage, type NewMessage, type ViewMessage } from '../core/messages/message.ts'
import { checkMessages } from '../core/messages/message-check.ts'
import { nextStep, withStopReason } from '../core/messages/stop-reason.ts'
import { wellFormed } from '../core/messages/well-formed.ts'
import {
  type BoundRendering,
  type Rendering,
  type RenderOptions,
  renderBoundView,
} from '../core/rendering/render.ts'
import { NO_SIZES } from '../core/tokens/measure.ts'
import { canonicalProvider, hostsClaude } from '../core/tokens/providers.ts'
import { bindsReasoning } from '../core/tokens/reasoning-bindings.ts'
import type {
  BilledTokens,
  NewRequest,
  ReasoningRecord,
  Session,
  SessionFigures,
} from '../storage/storage.ts'
import type { AppendResult } from './append.ts'
import { unlessUnknown } from './arguments.ts'
import type { ProviderRecord } from './compaction/direct-compactions.ts'
import type { ContextStats } from './compaction/stats.ts'
import type { UsageResult } from './compaction/usage.ts'
import { missingNames } from './config/model.ts'
import { nonDefaults } from './config/resolve.ts'
import { RENDERING_KEYS } from './config/settings.ts'
import type { AppendOptions, UsageInput } from './config/store-options.ts'
import type { StoreContext } from './context.ts'
import type { ChangedFrame } from './requests/changed-frame.ts'
import type { SessionSnapshot } from './requests/draft.ts'
import { addedMessage, promptMessages } from './requests/draft.ts'
import type { CheckedBefore, CheckedPrepare } from './requests/options.ts'
import { reasoningFacts } from './requests/reasoning.ts'
import {
  figuresOf,
  modelOfResponse,
  nextRequestOf,
  type RecordedResponse,
  type ResponseInput,
  recordSchema,
  usageOfResponse,
} from './requests/record.ts'
import { newRequest } from './requests/recorded.ts'
import { missingReasoning, type ReasoningChange, reasoningIn } from './requests/sent-reasoning.ts'
import type { BeforeTurnResult, TurnHooks } from './requests/turn-hooks.ts'

/** What is known of the reasoning of a session that does not exist yet. */
const NO_REASONING: ReasoningRecord = {
  ...{ isWhole: true, answers: [], open: [] },
  ...{ turnings: [], touches: new Map(), onlyReasoning: new Set<number>(), unknownTo: 0 },
}

/** How often a session is read again when another writer changes it between the reads. */
const MAX_READS = 100

type RecordingVerbs = {
  readonly append: (messages: readonly NewMessage[], options: AppendOptions) => Promise<AppendResult>
  /** Records a usage, and with it the request that `requestOf` returns. */
  readonly recordUsage: (
    usage: UsageInput,
    requestOf: (billed: BilledTokens | undefined) => NewRequest | undefined,
  ) => Promise<UsageResult>
  /** Offers the session to the background. */
  readonly offer: (stats: ContextStats) => void
}

/** `Store.recordResponse`, for a checked id. */
export async function recordResponse(
  context: StoreContext,
  sessionId: string,
  response: ResponseInput,
  verbs: RecordingVerbs,
): Promise<RecordedResponse> {
  const checked = check(recordSchema, response, 'recordResponse')
  const { request, stopReason, expectedPosition } = checked
  if (request !== undefined && request.sessionId !== sessionId)
    throw invalid('recordResponse: the request is of another session')
  const reading = checked.usage == null ? undefined : figuresOf(checked)
  // The append may be refused before this is waited for.
  reading?.catch(() => undefined)
  const prompt = readable('prompt', () => promptMessages(checked.prompt ?? request?.prompt))
  const messages = readable('messages', () => prompt.concat(withStopReason(checked.messages, stopReason)))
  const appended = await verbs.append(messages, {
    ...(expectedPosition !== undefined && { expectedPosition }),
  })
  const viewEpoch = await noteModel(context, sessionId, checked)
  const usage = await reading
  const isNew = appended.messages.some(({ existing }) => !existing)
  const requestOf = (billed?: BilledTokens): NewRequest | undefined =>
    request && newRequest(request, billed, { messages, appended: appended.messages, prompt: prompt.length })
  const reported =
    usage !== undefined && isNew
      ? await verbs.recordUsage({ ...usageOfResponse(checked, usage), ...defined({ viewEpoch }) }, requestOf)
      : undefined
  const requestId =
    reported?.requestId ?? (isNew ? await recordAlone(context, sessionId, requestOf, reported) : undefined)
  const changed = reportChange(context, sessionId, request, requestId)
  const next = nextStep(stopReason)
  const { provider, model } = modelOfResponse(checked)
  const stats = await context.stats(sessionId, provider, model, nextRequestOf(checked))
  if (next === 'final' && isNew) {
    context.events.emit('turnComplete', {
      sessionId,
      position: appended.position,
      ...(stopReason != null && { stopReason }),
    })
  }
  if (stats !== null && (checked.auto ?? request?.auto ?? true)) verbs.offer(stats)
  return {
    appended,
    ...(reported !== undefined && { usage: reported }),
    ...(reading !== undefined && usage === undefined && { usageProblem: 'unreadable' as const }),
    ...defined({ requestId, changed }),
    next,
    final: next === 'final',
    stats,
  }
}

/** Emits what a recorded request changed before its reasoning, and returns it. */
export function reportChange(
  { events }: StoreContext,
  sessionId: string,
  request: { readonly changed?: ChangedFrame | undefined } | undefined,
  requestId: string | undefined,
): ChangedFrame | undefined {
  if (requestId === undefined || request?.changed === undefined) return undefined
  events.emit('prefixChanged', { sessionId, requestId, ...request.changed })
  return request.changed
}

/** Another process has the database, it cannot be written, or the session was purged: the request goes on without its names being stored. */
const UNWRITABLE = ['STORE_READONLY', 'STORE_BUSY', 'STORE_FULL', 'SESSION_NOT_FOUND'] as const

/** Stores provider and model of a session that has none; returns the session after that, and `undefined` when nothing was stored. */
async function noteNames(
  { storage }: StoreContext,
  session: Session,
  given: Parameters<typeof missingNames>[1],
): Promise<Session | undefined> {
  const missing = missingNames(session, given)
  if (missing === undefined) return undefined
  try {
    return await storage.updateSession(session.id, missing)
  } catch (error) {
    if (UNWRITABLE.some((code) => isUndertextError(error, code))) return undefined
    throw error
  }
}

/**
 * The same after an answer. Names that only the settings gave stay with them. The names begin a new epoch of the same view: it is returned
 * when the request was of the one before, so that its usage counts.
 */
async function noteModel(
  context: StoreContext,
  sessionId: string,
  response: Parameters<typeof modelOfResponse>[0],
): Promise<number | undefined> {
  const names = modelOfResponse(response)
  if (names.provider === undefined) return undefined
  const session = await context.storage.session(sessionId)
  if (session === undefined) return undefined
  const usual = context.modelFor(session)
  const isUsual = canonicalProvider(names.provider) === usual.key && names.model === usual.model
  if (isUsual && response.provider === undefined) return undefined
  const named = await noteNames(context, session, names)
  return response.request?.viewEpoch === session.viewEpoch ? named?.viewEpoch : undefined
}

/** Records a request without a usage. The answer is stored, so a failure leaves no record and is not thrown. */
async function recordAlone(
  { storage }: StoreContext,
  sessionId: string,
  requestOf: () => NewRequest | undefined,
  reported: UsageResult | undefined,
): Promise<string | undefined> {
  const request = reported === undefined ? requestOf() : undefined
  if (request === undefined) return undefined
  try {
    return await storage.recordRequest(sessionId, request)
  } catch (error) {
    if (isUndertextError(error)) return undefined
    throw error
  }
}

/**
 * The messages of a prompt, checked as `append` checks them. One in which a user says nothing, also with no files, would not be sent. Throws
 * `INVALID_INPUT`.
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

/** Reads view, figures and position of one moment, after the names of the call were stored. */
export async function readSnapshot(
  context: StoreContext,
  id: string,
  provider: string | undefined,
  model: string | undefined,
  { whole = false }: { readonly whole?: boolean } = {},
): Promise<SessionSnapshot> {
  const sessionOf = async (found: Session | undefined): Promise<Session | undefined> =>
    found && ((await noteNames(context, found, { provider, model })) ?? found)
  return await ofOneMoment(context, id, sessionOf, (session) =>
    snapshotOf(context, id, session, [provider, model], whole),
  )
}

/** Reads several things of a session at one moment: again when it changed or was purged between the reads. */
async function ofOneMoment<T>(
  { storage }: StoreContext,
  id: string,
  sessionOf: (found: Session | undefined) => Promise<Session | undefined>,
  read: (session: Session | undefined) => Promise<T>,
): Promise<T & { readonly audit: number }> {
  const started = Date.now()
  for (let attempt = 0; attempt < MAX_READS; attempt++) {
    const session = await sessionOf(await storage.session(id))
    const found = await unlessUnknown(read(session))
    const now = await storage.present(id)
    const isSame = now?.incarnation === session?.incarnation && now?.version === session?.version
    // An entry of the audit that was written since without a change of the session changes no view.
    if (found !== undefined && isSame) return { ...found, audit: now?.audit ?? 0 }
  }
  throw new UndertextError('STORE_BUSY', { waitedMs: Date.now() - started })
}

/** Whether a call of a session is for a model that binds its reasoning. A provider without a model is another host of the session's Claude. */
export function bindsIn(
  context: Pick<StoreContext, 'modelFor'>,
  session: Pick<Session, 'provider' | 'model'>,
  provider: string | undefined,
  model: string | undefined,
): boolean {
  const chosen = context.modelFor(session, provider, model)
  if (chosen.model !== undefined || !hostsClaude(chosen.provider))
    return bindsReasoning(chosen.provider, chosen.model)
  return bindsReasoning(chosen.provider, context.modelFor(session).model)
}

async function snapshotOf(
  context: StoreContext,
  id: string,
  session: Session | undefined,
  names: Names,
  whole: boolean,
): Promise<Omit<SessionSnapshot, 'audit'>> {
  const { storage } = context
  const figures = session ?? noFigures(context)
  const shown = await shownOf(context, id, session, names, whole)
  const { chosen, view } = shown
  const readings = await storage.readings(id, chosen.key, chosen.model ?? '')
  const mayBeCut = view.some(({ replacedParts }) => replacedParts !== undefined)
  const [provider, model] = names
  return {
    ...shown,
    cut: mayBeCut ? cutIn(view, await storage.cutParts(id)) : [],
    rows: figures.visibleCount,
    sizes: figures.visibleSizes,
    images: context.images,
    stats: (request) => context.statsOf(id, figures, readings, { provider, model, request }),
  }
}

/** What a rendering of a session needs. */
type Shown = Pick<
  SessionSnapshot,
  'position' | 'viewEpoch' | 'view' | 'estimator' | 'chosen' | 'settings' | 'manner' | 'reasoning'
>

async function shownOf(
  context: StoreContext,
  id: string,
  session: Session | undefined,
  [provider, model]: Names,
  whole: boolean,
): Promise<Shown> {
  const { storage, configuration } = context
  const figures = session ?? noFigures(context)
  const chosen = context.modelFor(figures, provider, model)
  const config = configuration.ofSession(figures.config)
  const { settings } = config
  const view = session === undefined ? [] : await context.namedView(id, await storage.view(id, false))
  const reasoningOf = (): Promise<ReasoningRecord> | ReasoningRecord =>
    session === undefined ? NO_REASONING : storage.reasoning(id, whole)
  return {
    position: figures.messageCount,
    viewEpoch: figures.viewEpoch,
    view,
    estimator: context.estimatorNamed(figures.estimator, id),
    chosen,
    settings,
    manner: {
      preset: settings.preset,
      ...nonDefaults(config, RENDERING_KEYS),
      provider: chosen.provider,
    } as RenderOptions,
    reasoning: bindsIn(context, figures, provider, model) ? await reasoningOf() : undefined,
  }
}

/** What a rendering of a session needs, read at one moment. */
async function readShown(context: StoreContext, id: string, names: Names, whole: boolean): Promise<Shown> {
  return await ofOneMoment(
    context,
    id,
    async (found) => found,
    (session) => shownOf(context, id, session, names, whole),
  )
}

function cutIn(
  view: readonly ViewMessage[],
  parts: ReadonlyMap<number, readonly number[]>,
): SessionSnapshot['cut'] {
  return view.flatMap(({ id, position }) => {
    const own = position === undefined ? undefined : parts.get(position)
    return own === undefined ? [] : [{ messageId: id, parts: own }]
  })
}

/** What `beforeTurn` returns. For a model that binds its reasoning to what precedes it, texts are not in the system prompt but in a message. */
export async function withAddedMessage(
  context: StoreContext,
  id: string,
  { provider, model, system, prompt }: CheckedBefore,
  { texts, ...result }: Awaited<ReturnType<TurnHooks['before']>>,
): Promise<BeforeTurnResult> {
  if (texts.context === '' && texts.injected === '') return result
  const { reasoning, view } = await readShown(context, id, [provider, model], false)
  if (reasoning === undefined) return result
  const added = addedMessage(texts, view, prompt !== undefined && prompt !== '')
  const { systemPrompt: _, ...others } = result
  return { ...others, ...defined({ systemPrompt: wellFormed(system) || undefined, added }) }
}

/** The provider and model of a call; `undefined` for those of the session. */
type Names = readonly [provider: string | undefined, model: string | undefined]

type BoundHistory = { readonly snapshot: Shown; readonly rendering: BoundRendering }

/** The history as a model that binds its reasoning to what precedes it is sent it. Default of `options`: how the session renders. */
async function boundHistory(
  context: StoreContext,
  id: string,
  names: Names,
  options?: RenderOptions,
): Promise<BoundHistory> {
  const read = async (whole: boolean): Promise<BoundHistory | undefined> => {
    const snapshot = await readShown(context, id, names, whole)
    const { view, position, reasoning = NO_REASONING, manner } = snapshot
    const facts = reasoningFacts(reasoning, position, undefined)
    const rendering = await context.rendered((resizeImage) =>
      renderBoundView(view, { ...(options ?? manner), resizeImage }, facts),
    )
    return rendering && { snapshot, rendering }
  }
  return (await read(false)) ?? (await read(true))!
}

/** The history for a model that binds its reasoning to what precedes it. */
export async function renderBoundHistory(
  context: StoreContext,
  id: string,
  provider: string | undefined,
  options: RenderOptions,
): Promise<Rendering> {
  const { messages, mends } = (await boundHistory(context, id, [provider, undefined], options)).rendering
  return { messages, mends }
}

/** What the messages before one are for reasoning that is bound to them; `undefined` for a model that binds nothing. */
export async function prefixesBefore(
  context: StoreContext,
  id: string,
  provider: string | undefined,
  keepFrom: string | undefined,
): Promise<NonNullable<ProviderRecord['requested']>['replaced']> {
  const snapshot = await readShown(context, id, [provider, undefined], true)
  const { view, manner, reasoning, position, viewEpoch } = snapshot
  const end =
    keepFrom === undefined ? view.length : view.findIndex(({ id: messageId }) => messageId === keepFrom)
  if (reasoning === undefined || end === -1) return undefined
  const facts = reasoningFacts(reasoning, position, undefined)
  const rendering = await context.rendered((resizeImage) =>
    renderBoundView(view.slice(0, end), { ...manner, resizeImage }, facts),
  )
  return { messageCount: position, viewEpoch, prefixes: rendering!.prefixes }
}

/**
 * Makes a change of a view, and reports the reasoning that it invalidates or restores, where the model of the session checks what precedes it.
 * What cannot be read is not reported: the change is made all the same.
 */
export async function withReasoningChange<T extends object>(
  context: StoreContext,
  id: string,
  hasChanged: (result: T) => boolean,
  work: () => Promise<T>,
  names: Names = [undefined, undefined],
): Promise<T & ReasoningChange> {
  // Where not even the session can be read, the change cannot be made.
  const session = await context.storage.session(id)
  const binds = session !== undefined && bindsIn(context, session, ...names)
  const before = binds ? await sentNow(context, id, names) : undefined
  const result = await work()
  if (before === undefined || !hasChanged(result)) return result
  const after = await sentNow(context, id, names, before.position)
  if (after === undefined) return result
  return {
    ...result,
    invalidatedReasoning: missingReasoning(before.sent, after.sent, after, after.shown),
    restoredReasoning: missingReasoning(after.sent, before.sent, after, after.shown),
  }
}

/** The reasoning in a view up to a position, and what of it is sent; `undefined` where it cannot be read. */
async function sentNow(
  context: StoreContext,
  id: string,
  [provider, model]: Names,
  until = Number.POSITIVE_INFINITY,
) {
  try {
    const { snapshot, rendering } = await boundHistory(context, id, [provider, model])
    const { view, estimator, position } = snapshot
    const rows = view.filter((row) => row.position === undefined || row.position <= until)
    return {
      position,
      estimator,
      provider: snapshot.chosen.key,
      shown: reasoningIn(rows, estimator),
      sent: reasoningIn(rendering.messages, estimator),
    }
  } catch (error) {
    if (isUndertextError(error)) return undefined
    throw error
  }
}

/** The figures of a session that does not exist yet. */
function noFigures({ estimators }: StoreContext): SessionFigures {
  return {
    provider: undefined,
    model: undefined,
    config: undefined,
    estimator: estimators.standard.name,
    messageCount: 0,
    visibleCount: 0,
    visibleSizes: NO_SIZES,
    hidden: { condensed: 0, truncated: 0, manual: 0 },
    activeCompactions: 0,
    undoneAutomatic: 0,
    viewEpoch: 0,
  }
}

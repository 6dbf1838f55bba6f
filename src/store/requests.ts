import { isUndertextError, UndertextError } from '../core/errors.ts'
import type { ViewMessage } from '../core/messages/message.ts'
import {
  type BoundRendering,
  type Rendering,
  type RenderOptions,
  renderBoundView,
} from '../core/rendering/render.ts'
import { NO_SIZES } from '../core/tokens/measure.ts'
import { hostsClaude } from '../core/tokens/providers.ts'
import { bindsReasoning } from '../core/tokens/reasoning-bindings.ts'
import type { ReasoningRecord, Session, SessionFigures } from '../storage/storage.ts'
import { unlessUnknown } from './arguments.ts'
import type { ProviderRecord } from './compaction/direct-compactions.ts'
import { missingNames } from './config/model.ts'
import { nonDefaults } from './config/resolve.ts'
import { RENDERING_KEYS } from './config/settings.ts'
import type { StoreContext } from './context.ts'
import type { SessionSnapshot } from './requests/draft.ts'
import { missingReasoning, type ReasoningChange, reasoningFacts, reasoningIn } from './requests/reasoning.ts'

const NO_REASONING: ReasoningRecord = {
  ...{ isWhole: true, answers: [], open: [] },
  ...{ turnings: [], touches: new Map(), onlyReasoning: new Set<number>(), unknownTo: 0 },
}

/** Maximum number of times a session is read again if another writer changes it between the reads. */
const MAX_READS = 100

/**
 * Another process is using the database, it can't be written, or the session was purged: the request goes on without its names being
 * stored.
 */
const UNWRITABLE = ['STORE_READONLY', 'STORE_BUSY', 'STORE_FULL', 'SESSION_NOT_FOUND'] as const

/** Stores provider and model of a session that has none. Returns the updated session, or `undefined` if nothing was stored. */
export async function noteNames(
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

/** Reads view, figures and position at one moment, after the names of the call were stored. */
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

/** Reads several things of a session at one moment; reads again if it changed or was purged between the reads. */
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
    // An audit entry that was written since without a change of the session changes no view.
    if (found !== undefined && isSame) return { ...found, audit: now?.audit ?? 0 }
  }
  throw new UndertextError('STORE_BUSY', { waitedMs: Date.now() - started })
}

/**
 * Whether a call for a session is to a model that binds its reasoning. A provider without a model is another host of the session's Claude.
 */
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

/** Reads the data that rendering a session needs, at one moment. */
export async function readShown(
  context: StoreContext,
  id: string,
  names: Names,
  whole: boolean,
): Promise<Shown> {
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

/** The provider and model of a call; `undefined` means those of the session. */
type Names = readonly [provider: string | undefined, model: string | undefined]

type BoundHistory = { readonly snapshot: Shown; readonly rendering: BoundRendering }

/**
 * Returns the history as it is sent to a model that binds its reasoning to what precedes it. `options` default to the session's rendering.
 */
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

/** Renders the history for a model that binds its reasoning to what precedes it. */
export async function renderBoundHistory(
  context: StoreContext,
  id: string,
  provider: string | undefined,
  options: RenderOptions,
): Promise<Rendering> {
  const { messages, mends } = (await boundHistory(context, id, [provider, undefined], options)).rendering
  return { messages, mends }
}

/**
 * Returns the prefixes that the messages before a given one form for reasoning bound to them; `undefined` for a model that binds nothing.
 */
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
 * Changes a view, and reports the reasoning that this invalidates or restores, if the session's model checks what precedes it. If the
 * reasoning can't be read, it isn't reported; the change is made anyway.
 */
export async function withReasoningChange<T extends object>(
  context: StoreContext,
  id: string,
  hasChanged: (result: T) => boolean,
  work: () => Promise<T>,
  names: Names = [undefined, undefined],
): Promise<T & ReasoningChange> {
  // If not even the session can be read, the change can't be made.
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

/** Returns the reasoning in a view up to a position, and which of it is sent; `undefined` if it can't be read. */
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

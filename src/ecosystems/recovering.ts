import { errorName, isUndertextError } from '../errors.ts'
import { taken } from '../messages/check.ts'
import type { NewMessage } from '../messages/message.ts'
import { checkMessages } from '../messages/message-check.ts'
import { describedBy, type PreparedRequest } from '../requests/prepared.ts'
import type { ReportedUsage } from '../requests/provider-usage.ts'
import type { AppendResult } from '../store/append.ts'
import { unlessUnknown } from '../store/arguments.ts'
import type { Store } from '../store/store.ts'

/*
 * What models that recover from overflows share, whatever library they belong to: the model is called through
 * `withOverflowRecovery`, and its usage is recorded for the request that was prepared.
 */

/** What a recovering model needs of a store. */
export type RecoveringStore = Pick<
  Store,
  'createSession' | 'getSession' | 'recordUsage' | 'updateSession' | 'withOverflowRecovery'
>

/** Whose session it is, and which model it is for. */
export type SessionNames = {
  readonly provider?: string | undefined
  readonly model?: string | undefined
  readonly owner?: string | undefined
}

/**
 * Records model and owner of a session that has none yet: what a session has is never replaced. A model is recorded only together with
 * its provider. An unknown session stays unknown.
 */
export async function noteSession(
  store: Pick<Store, 'getSession' | 'updateSession'>,
  sessionId: string,
  names: SessionNames,
): Promise<void> {
  if (names.provider === undefined && names.owner === undefined) return
  const session = await unlessUnknown(store.getSession(sessionId))
  if (session !== undefined) await complete(store, session, names)
}

/** Gives a session the names that it does not have. */
async function complete(
  store: Pick<Store, 'updateSession'>,
  session: Awaited<ReturnType<Store['getSession']>>,
  { provider, model, owner }: SessionNames,
): Promise<void> {
  const isNewModel = provider !== undefined && session.provider === undefined
  const change = {
    ...(isNewModel && { provider, ...(model !== undefined && { model }) }),
    ...(owner !== undefined && session.owner === undefined && { owner }),
  }
  if (Object.keys(change).length > 0) await store.updateSession(session.id, change)
}

/**
 * Records the usage of one call of a model. The answer was given and paid for: a report that cannot be recorded becomes a warning of the
 * process, and a report of no tokens at all is ignored.
 */
export async function recordCall(
  store: Pick<Store, 'recordUsage'>,
  request: PreparedRequest,
  usage: ReportedUsage | undefined,
): Promise<void> {
  const { sessionId, provider, model } = request
  if (usage === undefined || Object.values(usage).every((tokens) => tokens === 0)) return
  try {
    await store.recordUsage(sessionId, {
      ...usage,
      ...describedBy(request),
      provider,
      ...(model !== undefined && { model }),
    })
  } catch (error) {
    process.emitWarning(`The usage of a model call was not recorded: ${errorName(error)}`)
  }
}

/** Records names as `noteSession` does; an unknown session is created with them, so that it is nobody else's at any time. */
async function nameSession(
  store: Pick<Store, 'createSession' | 'getSession' | 'updateSession'>,
  id: string,
  { provider, model, owner }: SessionNames,
): Promise<void> {
  const names = { provider, model, owner }
  const session = await unlessUnknown(store.getSession(id))
  if (session !== undefined) return complete(store, session, names)
  try {
    const asked = provider !== undefined && { provider, ...(model !== undefined && { model }) }
    await store.createSession({ id, ...asked, ...(owner !== undefined && { owner }) })
  } catch (error) {
    if (!isUndertextError(error, 'SESSION_EXISTS')) throw error
    await noteSession(store, id, names)
  }
}

/** Appends to a session after its names were recorded. Messages that cannot be stored create no session. */
export async function appendNamed(
  store: Pick<Store, 'append' | 'createSession' | 'getSession' | 'updateSession'>,
  id: string,
  messages: readonly NewMessage[],
  names: SessionNames,
): Promise<AppendResult> {
  if (names.provider === undefined && names.owner === undefined) return store.append(id, messages)
  checkMessages(messages)
  const given = taken(messages)
  await nameSession(store, id, names)
  return store.append(id, given)
}

/** Records usage as `recordCall` does, and the names of the session, which is created when its messages are not stored yet. */
export async function recordCallOf(
  store: RecoveringStore,
  request: PreparedRequest,
  owner: string | undefined,
  usage: ReportedUsage | undefined,
): Promise<void> {
  try {
    await nameSession(store, request.sessionId, { provider: request.provider, model: request.model, owner })
  } catch (error) {
    process.emitWarning(`The model of a session was not recorded: ${errorName(error)}`)
  }
  await recordCall(store, request, usage)
}

/**
 * The iterable once its first words are there; what comes in place of them is thrown, so that a failure before them can lead to another
 * request.
 */
export async function begunIterable<T>(
  source: AsyncIterable<T>,
  isPrelude: (value: T) => boolean = () => false,
): Promise<AsyncIterable<T>> {
  const iterator = source[Symbol.asyncIterator]()
  const waiting: T[] = []
  let step = await iterator.next()
  for (; step.done !== true && isPrelude(step.value); step = await iterator.next()) waiting.push(step.value)
  return (async function* () {
    try {
      yield* waiting
      for (; step.done !== true; step = await iterator.next()) yield step.value
    } finally {
      await iterator.return?.()
    }
  })()
}

/** An object with some of its methods in place of its own; the others are called on the object itself. */
export function withMethods<T extends object>(target: T, methods: { readonly [name: string]: unknown }): T {
  return new Proxy(target, {
    get: (own, key) => {
      if (typeof key === 'string' && Object.hasOwn(methods, key)) return methods[key]
      const value: unknown = Reflect.get(own, key, own)
      return typeof value === 'function' ? value.bind(own) : value
    },
  })
}

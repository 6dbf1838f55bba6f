import { errorName, isUndertextError } from '../errors.ts'
import { taken } from '../messages/check.ts'
import type { NewMessage, PositionRange } from '../messages/message.ts'
import { checkMessages } from '../messages/message-check.ts'
import { describedBy, type PreparedRequest } from '../requests/prepared.ts'
import type { ReportedUsage } from '../requests/provider-usage.ts'
import type { AppendResult } from '../store/append.ts'
import { unlessUnknown } from '../store/arguments.ts'
import type { Store } from '../store/store.ts'

/*
 * What models that recover from overflows share in every library: the model is called through
 * `withOverflowRecovery`, and its usage is recorded for the prepared request.
 */

/** The store methods that a recovering model needs. */
export type RecoveringStore = Pick<
  Store,
  'createSession' | 'getSession' | 'recordAnswer' | 'recordUsage' | 'updateSession' | 'withOverflowRecovery'
>

/** Owner, provider and model of a session. */
export type SessionNames = {
  readonly provider?: string | undefined
  readonly model?: string | undefined
  readonly owner?: string | undefined
}

/**
 * Records provider, model and owner of a session that has none yet; existing values are never replaced. A model
 * is recorded only together with its provider. An unknown session is ignored.
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

/** Sets the names that a session does not have. */
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
 * Records the usage of one model call, and what was sent; returns the id of the recorded request. The response was already delivered and
 * paid for: if recording fails, the process emits a warning. Reports of 0 tokens are ignored.
 */
export async function recordCall(
  store: Pick<Store, 'recordUsage'>,
  request: PreparedRequest,
  usage: ReportedUsage | undefined,
): Promise<string | undefined> {
  const { sessionId, provider, model } = request
  if (usage === undefined || Object.values(usage).every((tokens) => tokens === 0)) return undefined
  try {
    const { requestId } = await store.recordUsage(sessionId, {
      ...usage,
      ...describedBy(request),
      provider,
      ...(model !== undefined && { model }),
      request,
    })
    return requestId
  } catch (error) {
    process.emitWarning(`The usage of a model call was not recorded: ${errorName(error)}`)
    return undefined
  }
}

/** A recorded request, and the positions of its answer, first and last. */
export type AnsweredRequest = { readonly requestId: string; readonly positions: PositionRange }

/** Records where answers are stored. They are stored all the same: if recording fails, the process emits a warning. */
export async function recordAnswers(
  store: Pick<Store, 'recordAnswer'>,
  sessionId: string,
  answers: readonly AnsweredRequest[],
): Promise<void> {
  for (const { requestId, positions } of answers) {
    try {
      await store.recordAnswer(sessionId, requestId, positions)
    } catch (error) {
      process.emitWarning(`The answer of a request was not recorded: ${errorName(error)}`)
    }
  }
}

/**
 * Records names as `noteSession` does. An unknown session is created with them, so that it never exists without
 * its owner.
 */
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

/**
 * Records usage as `recordCall` does, and the names of the session, which is created when its messages are not
 * stored yet. Returns the id of the recorded request.
 */
export async function recordCallOf(
  store: RecoveringStore,
  request: PreparedRequest,
  owner: string | undefined,
  usage: ReportedUsage | undefined,
): Promise<string | undefined> {
  try {
    await nameSession(store, request.sessionId, { provider: request.provider, model: request.model, owner })
  } catch (error) {
    process.emitWarning(`The model of a session was not recorded: ${errorName(error)}`)
  }
  return recordCall(store, request, usage)
}

/**
 * Returns the iterable once its first content has arrived. An error before that is thrown, so that the request
 * can be retried.
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

/** An object with some methods replaced; all other methods are called on the object itself. */
export function withMethods<T extends object>(target: T, methods: { readonly [name: string]: unknown }): T {
  return new Proxy(target, {
    get: (own, key) => {
      if (typeof key === 'string' && Object.hasOwn(methods, key)) return methods[key]
      const value: unknown = Reflect.get(own, key, own)
      return typeof value === 'function' ? value.bind(own) : value
    },
  })
}

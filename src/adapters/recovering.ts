import { errorName, isUndertextError } from '../core/errors.ts'
import { taken } from '../core/messages/check.ts'
import { defined } from '../core/messages/json.ts'
import type { NewMessage, PositionRange } from '../core/messages/message.ts'
import { checkMessages } from '../core/messages/message-check.ts'
import type { ReportedUsage } from '../core/tokens/provider-usage.ts'
import type { AppendResult } from '../store/append.ts'
import { unlessUnknown } from '../store/arguments.ts'
import { missingNames } from '../store/config/model.ts'
import type { AppendOptions } from '../store/config/store-options.ts'
import { describedBy } from '../store/requests/options.ts'
import type { PreparedRequest } from '../store/requests/prepared.ts'
import type { UsageReportInput } from '../store/requests/record.ts'
import type { Store } from '../store/store.ts'

/*
 * The common part of the recovering models of all libraries: a model is called through `withOverflowRecovery`, and its usage is recorded
 * for the prepared request.
 */

/** The store methods that a recovering model needs. */
export type RecoveringStore = Pick<Store, 'sessions' | 'requests' | 'withOverflowRecovery'>

/** Provider and model of a session. */
export type SessionNames = {
  readonly provider?: string | undefined
  readonly model?: string | undefined
}

/**
 * Records the provider and model of a session that lacks them; existing values are never replaced. A model is recorded only together with
 * its provider. An unknown session is ignored; with `creates`, it is created with these values.
 */
export async function recordNames(
  store: Pick<Store, 'sessions'>,
  id: string,
  { provider, model }: SessionNames,
  creates = false,
): Promise<void> {
  if (provider === undefined) return
  const session = await unlessUnknown(store.sessions.get(id))
  if (session !== undefined) {
    const change = missingNames(session, { provider, model })
    if (change !== undefined) await store.sessions.update(id, change)
    return
  }
  if (!creates) return
  try {
    await store.sessions.create(defined({ id, provider, model }))
  } catch (error) {
    if (!isUndertextError(error, 'SESSION_EXISTS')) throw error
    await recordNames(store, id, { provider, model })
  }
}

/**
 * Records the usage of one model call, and what was sent; returns the id of the recorded request. If recording fails, the process emits a
 * warning, because the response was already delivered and paid for. Without a report, or with one of 0 tokens, the request alone is
 * recorded. `facts` are those of the sent request, by default of the prepared one.
 */
export async function recordCall(
  store: Pick<Store, 'requests'>,
  prepared: PreparedRequest,
  usage: ReportedUsage | undefined,
  facts: Omit<UsageReportInput, keyof ReportedUsage> = { ...describedBy(prepared), request: prepared },
): Promise<string | undefined> {
  const { sessionId, provider, model } = prepared
  const { request, ...known } = facts
  const isReported = usage !== undefined && Object.values(usage).some((tokens) => tokens !== 0)
  if (!isReported && request === undefined) return undefined
  try {
    const report = { ...known, provider, ...defined({ model }) }
    const recorded = isReported
      ? await store.requests.recordUsage(sessionId, { ...report, ...usage, request })
      : await store.requests.recordUsage(sessionId, { ...report, request: request! })
    return recorded.requestId
  } catch (error) {
    process.emitWarning(`The usage of a model call wasn't recorded: ${errorName(error)}`)
    return undefined
  }
}

/** A recorded request, and the positions of its answer, first and last. */
export type AnsweredRequest = { readonly requestId: string; readonly positions: PositionRange }

/** An answer in a list of items: the index after its last item, and whether no other answer can be there. */
export type AnswerPlace = { readonly end: number; readonly isCertain: boolean }

/** How the items of a library are compared. */
type Rules<Item, Answer> = {
  /** The place of an answer that begins at an index; `undefined` when it does not begin there. */
  readonly placeAt: (items: readonly Item[], index: number, answer: Answer) => AnswerPlace | undefined
  /** Whether an item that was sent and one that is stored are the same. */
  readonly isSame: (sent: Item, stored: Item) => boolean
}

type Waiting<Item, Answer> = {
  readonly requestId: string
  readonly answer: Answer
  /** The last item that was sent. */
  readonly last: Item | undefined
  /** How many answers were recorded before the call began, and before it ended. */
  readonly began: number
  readonly ended: number
}

/** The most answers that wait: a turn may end without storing them. */
const MAX_WAITING = 100

/** Recorded requests of a session whose answers are not stored yet. */
export class Unanswered<Item, Answer> {
  readonly #rules: Rules<Item, Answer>
  /** Oldest first. */
  #waiting: readonly Waiting<Item, Answer>[] = []
  #count = 0

  constructor(rules: Rules<Item, Answer>) {
    this.#rules = rules
  }

  /** Begins a call whose input ends with this item. The returned function must be called once the request is recorded. */
  beginCall(last?: Item): (requestId: string, answer: Answer) => void {
    const began = this.#count
    return (requestId, answer) => {
      const one = { requestId, answer, last, began, ended: this.#count++ }
      this.#waiting = [...this.#waiting, one].slice(-MAX_WAITING)
    }
  }

  /**
   * Finds the answers in a list that was stored. Among equal answers the newest is chosen, because a turn may end without storing its own.
   * A stored answer makes every answer stale that ended before its call began.
   */
  take(
    items: readonly Item[],
    stored: readonly { readonly position: number; readonly existing: boolean }[],
  ): AnsweredRequest[] {
    if (items.length !== stored.length) return []
    const found: AnsweredRequest[] = []
    let began = 0
    for (let at = items.length - 1; at >= 0 && this.#waiting.length > 0; at--) {
      // The answer of an earlier call was stored before.
      const match = stored[at]!.existing ? undefined : this.#answerAt(items, at)
      if (match === undefined) continue
      const { one, end } = match
      found.push({ requestId: one.requestId, positions: [stored[at]!.position, stored[end - 1]!.position] })
      began = Math.max(began, one.began)
      this.#waiting = this.#waiting.filter((other) => other !== one)
    }
    this.#waiting = this.#waiting.filter(({ ended }) => ended >= began)
    return found.reverse()
  }

  /** Returns `undefined` also for equal answers of calls at the same time: it is unknown which one is stored. */
  #answerAt(
    items: readonly Item[],
    at: number,
  ): { readonly one: Waiting<Item, Answer>; readonly end: number } | undefined {
    const { placeAt, isSame } = this.#rules
    const fitting = this.#waiting.flatMap((one) => {
      const place = placeAt(items, at, one.answer)
      return place === undefined ? [] : [{ one, ...place }]
    })
    const before = items[at - 1]
    const certain = preferred(fitting, ({ isCertain }) => isCertain)
    const likely = preferred(
      certain,
      ({ one: { last } }) => before !== undefined && last !== undefined && isSame(last, before),
    )
    const newest = likely.at(-1)
    return newest && likely.at(-2) && likely.at(-2)!.one.ended >= newest.one.began ? undefined : newest
  }
}

/** Returns the items that meet a condition, or all items if none does. */
function preferred<T>(list: readonly T[], condition: (one: T) => boolean): readonly T[] {
  const met = list.filter(condition)
  return met.length > 0 ? met : list
}

/** Records where answers are stored. If that fails, the process emits a warning, because the answers themselves are stored. */
export async function recordAnswers(
  store: Pick<Store, 'requests'>,
  sessionId: string,
  answers: readonly AnsweredRequest[],
): Promise<void> {
  for (const { requestId, positions } of answers) {
    try {
      await store.requests.recordAnswer(sessionId, requestId, positions)
    } catch (error) {
      process.emitWarning(`The answer of a request wasn't recorded: ${errorName(error)}`)
    }
  }
}

/** Appends to a session after recording its names. Messages that can't be stored don't create a session. */
export async function appendNamed(
  store: Pick<Store, 'append' | 'sessions'>,
  id: string,
  messages: readonly NewMessage[],
  names: SessionNames,
  options: AppendOptions = {},
): Promise<AppendResult> {
  if (names.provider === undefined) return store.append(id, messages, options)
  checkMessages(messages)
  const given = taken(messages)
  await recordNames(store, id, names, true)
  return store.append(id, given, options)
}

/**
 * Records usage as `recordCall` does, and the names of the session, which is created when its messages are not
 * stored yet. Returns the id of the recorded request.
 */
export async function recordSessionCall(
  store: RecoveringStore,
  request: PreparedRequest,
  usage: ReportedUsage | undefined,
): Promise<string | undefined> {
  try {
    await recordNames(store, request.sessionId, request, true)
  } catch (error) {
    process.emitWarning(`The model of a session wasn't recorded: ${errorName(error)}`)
  }
  return recordCall(store, request, usage)
}

/** Returns the iterable once its first content has arrived. An error before that is thrown, so that the request can be retried. */
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

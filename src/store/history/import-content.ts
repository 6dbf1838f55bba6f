import { invalid } from '../../core/errors.ts'
import { check, isIterable } from '../../core/messages/check.ts'
import { isObject } from '../../core/messages/json.ts'
import { recordAppended } from '../append.ts'
import { checkId } from '../arguments.ts'
import { createSchema } from '../config/store-options.ts'
import type { StoreContext } from '../context.ts'
import { importSession } from './import/import-session.ts'
import type { ImportEvents, ImportOptions, SessionImport } from './import/import-types.ts'
import type { HistoryRecords } from './restore-session.ts'
import { type RestoreOptions, restoreSchema, restoreSession, type SessionRestore } from './restore-session.ts'

type ImportInto = ImportOptions & { readonly id: string }

const EVENTS: ReadonlySet<unknown> = new Set(['fields', 'message', 'compaction'])

/** See `Sessions.import`: an export begins with a header, a conversation with one of its events. */
export async function importContent(
  context: StoreContext,
  content: HistoryRecords | ImportEvents,
  options: RestoreOptions | ImportInto,
): Promise<SessionRestore | SessionImport> {
  if (!isObject(options)) throw invalid('sessions.import: options must be an object')
  if (typeof content === 'function') return importEvents(context, content, options)
  if (!isIterable(content)) throw invalid('sessions.import: content must be iterable')
  const { first, all, close } = await peeked(content as Iterable<unknown> | AsyncIterable<unknown>)
  try {
    // Without a first element, the presence of `source` decides.
    const isConversation = isObject(first) ? EVENTS.has(first.type) : 'source' in options
    return isConversation
      ? await importEvents(context, all as ImportEvents, options)
      : await importRecords(context, all as HistoryRecords, options)
  } finally {
    await close()
  }
}

function importEvents(context: StoreContext, events: ImportEvents, given: object): Promise<SessionImport> {
  const { id, ...options } = given as ImportInto
  const host = {
    storage: context.storageOf((given as ImportInto).owner),
    estimator: context.estimators.standard.name,
    modelFor: (session: Parameters<StoreContext['modelFor']>[0]) => context.modelFor(session),
    recordAppended: recordAppended.bind(undefined, context),
  }
  return importSession(host, checkId(id, 'sessions.import: id'), events, options)
}

function importRecords(
  context: StoreContext,
  records: HistoryRecords,
  options: object,
): Promise<SessionRestore> {
  const checked = check(restoreSchema, options, 'sessions.import')
  context.storageOf(checked.owner)
  const host = {
    storageOf: (owner: string | undefined) =>
      context.owner === undefined ? context.storage.seenBy(owner ?? null) : context.storage,
    admit: ({ estimator, config }: { estimator: string; config?: unknown }, sessionId: string) => {
      check(createSchema.shape.config, config, 'config')
      context.estimatorNamed(estimator, sessionId)
    },
  }
  const { owner = context.owner } = checked
  return restoreSession(host, records, { ...checked, ...(owner !== undefined && { owner }) })
}

/**
 * Returns the first element of a list, the whole list (which may be readable only once), and a function that closes it if it isn't read to
 * its end.
 */
async function peeked<T>(list: Iterable<T> | AsyncIterable<T>) {
  if (Array.isArray(list)) return { first: list[0], all: list as T[], close: async () => {} }
  const iterator = Symbol.asyncIterator in list ? list[Symbol.asyncIterator]() : list[Symbol.iterator]()
  // As in a `for` loop, a list that throws isn't closed.
  let isOver = true
  const next = async (): Promise<IteratorResult<T>> => {
    isOver = true
    const step = await iterator.next()
    isOver = step.done === true
    return step
  }
  let step = await next()
  const first: T | undefined = step.done === true ? undefined : step.value
  const all = async function* (): AsyncGenerator<T> {
    for (; step.done !== true; step = await next()) yield step.value
  }
  const close = async (): Promise<void> => {
    if (!isOver) await iterator.return?.()
  }
  return { first, all: all(), close }
}

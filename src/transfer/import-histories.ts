import { isUndertextError, UndertextError } from '../core/errors.ts'
import { defined } from '../core/messages/json.ts'
import type { Session } from '../storage/storage.ts'
import type { SessionRestore } from '../store/history/restore-session.ts'
import { type CheckedHistory, checkHistory, HistoryCursor, restoreNext } from './history-lines.ts'
import {
  type Done,
  type ImportedConversation,
  type Importing,
  type ImportStore,
  MAX_LISTED,
  outcomeOf,
  refused,
  withCount,
} from './import-report.ts'
import { type Line, readLines } from './lines.ts'
import { historyTaken, sessionNames } from './session-rows.ts'
import type { FileInput } from './source.ts'

/** Imports a file of histories: checks all of them, then restores the valid ones in order, each separately. */
export async function importHistories(importing: Importing): Promise<ImportedConversation[]> {
  const { store, path, input, options, onMessages, onWrite } = importing
  const histories: CheckedHistory[] = []
  let messages = 0
  for await (const history of checkHistory(readLines(input.bytes()))) {
    histories.push(history)
    messages += history.counts.messages
    onMessages(messages)
  }
  const ids = histories.map(({ session }) => ({ id: session?.id }))
  const names = sessionNames(ids, input.name, options)
  const done: ImportedConversation[] = []
  if (options.dryRun) {
    for (const [i, history] of histories.entries())
      done.push(historyOutcome(names[i]!, history, await checkedOutcome(store, names[i]!, history), i))
    return done
  }
  onWrite()
  const cursor = new HistoryCursor(readLines(input.bytes()), 'importFile')
  messages = 0
  try {
    for (const [i, history] of histories.entries()) {
      const refusal = refusalOf(history)
      if (refusal !== undefined && (await cursor.begin()) !== undefined) await cursor.skip()
      const outcome = refusal ?? (await restoreOrFind(names[i]!, history, cursor, importing))
      done.push(historyOutcome(names[i]!, history, outcome, i))
      messages += history.counts.messages
      onMessages(messages)
    }
    return done
  } catch (error) {
    throw withCount(error, path, options.signal, done)
  } finally {
    await cursor.close()
  }
}

/** Returns why the check rejected a history. `skipBad` doesn't apply, because a part of a history can't be restored. */
function refusalOf({ problem, counts }: CheckedHistory): Done | undefined {
  const why = refused({ messages: counts.messages, problemCount: problem === undefined ? 0 : 1 }, false)
  return why === undefined ? undefined : { status: 'refused', why }
}

async function checkedOutcome(store: ImportStore, name: string, history: CheckedHistory): Promise<Done> {
  const { messages } = history.counts
  const refusal = refusalOf(history)
  if (refusal !== undefined) return refusal
  if (messages === 0) return { status: 'empty' }
  return { status: 'checked', messages, existing: (await existing(store, name))?.messageCount ?? 0 }
}

function historyOutcome(
  name: string,
  { problem, counts }: CheckedHistory,
  done: Done,
  index: number,
): ImportedConversation {
  const checked = {
    branchOf: undefined,
    messages: counts.messages,
    problemCount: problem === undefined ? 0 : 1,
    noteCount: 0,
    problems: problem === undefined || index >= MAX_LISTED ? [] : [problem],
    notes: [],
  }
  return outcomeOf(name, checked, done)
}

async function restoreOrFind(
  id: string,
  history: CheckedHistory,
  cursor: HistoryCursor,
  importing: Importing,
): Promise<Done> {
  const { store, input } = importing
  const before = await existing(store, id)
  const done = await restore(id, cursor, importing)
  if (done.status !== 'refused' || done.code !== 'SESSION_EXISTS') return done
  // Another process created the session meanwhile, perhaps from the same history.
  const again = (): HistoryCursor => new HistoryCursor(linesOfHistory(input, history), 'importFile')
  const found = before === undefined ? await restore(id, again(), importing) : done
  return 'code' in found && found.code === 'SESSION_EXISTS' ? { ...found, why: historyTaken(id) } : found
}

async function existing(store: ImportStore, id: string): Promise<Session | undefined> {
  try {
    return await store.sessions.get(id)
  } catch (error) {
    if (isUndertextError(error, 'SESSION_NOT_FOUND')) return undefined
    throw error
  }
}

async function* linesOfHistory(
  input: FileInput,
  { line, lastLine }: CheckedHistory,
): AsyncGenerator<Line, void, undefined> {
  for await (const each of readLines(input.bytes())) {
    if (each.number > lastLine) return
    if (each.number >= line) yield each
  }
}

async function restore(
  id: string,
  cursor: HistoryCursor,
  { store, path, options }: Importing,
): Promise<Done> {
  const { owner, signal } = options
  try {
    const answer = await restoreNext(store, cursor, { id, ...defined({ owner, signal }) })
    if (answer === undefined) throw new UndertextError('FILE_CHANGED', { file: path, imported: 0 })
    if ('restored' in answer) return doneOf(answer.restored)
    const { why, code } = answer.refused
    return { status: 'refused', why, code }
  } catch (error) {
    if (!isUndertextError(error, 'INVALID_INPUT')) throw error
    await cursor.skip()
    return { status: 'refused', why: error.message, code: error.code }
  }
}

function doneOf({ existing, messages, compactions }: SessionRestore): Done {
  const status = existing ? ('known' as const) : ('applied' as const)
  return {
    status: existing ? 'unchanged' : 'imported',
    messages: existing ? 0 : messages,
    existing: existing ? messages : 0,
    compactions: Array.from({ length: compactions }, (_, i) => ({ id: String(i + 1), status })),
  }
}

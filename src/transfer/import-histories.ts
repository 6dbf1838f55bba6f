import { isUndertextError, UndertextError } from '../errors.ts'
import type { SessionRestore } from '../history/restore-session.ts'
import type { PositionRange } from '../messages/message.ts'
import { mergeRanges } from '../model/expansion.ts'
import type { Compaction } from '../storage/storage.ts'
import { type CheckedHistory, checkHistory, restoreFrom } from './history-lines.ts'
import { type CheckedImportFile, type ImportedConversation, TOLD, withCount } from './import-report.ts'
import { type Line, readLines } from './lines.ts'
import { type Done, outcomeOf, refused } from './outcomes.ts'
import { historyTaken, sessionNames } from './session-rows.ts'
import type { FileInput } from './source.ts'
import type { ImportStore } from './write-file.ts'

type HistoryImport = {
  readonly store: ImportStore
  readonly path: string
  readonly input: FileInput
  readonly options: CheckedImportFile
  readonly onMessages: (count: number) => void
}

/** The histories of a file, and their problems. */
export async function checkHistories({ input, onMessages }: HistoryImport): Promise<CheckedHistory[]> {
  const histories: CheckedHistory[] = []
  let messages = 0
  for await (const history of checkHistory(readLines(input.bytes()))) {
    histories.push(history)
    messages += history.counts.messages
    onMessages(messages)
  }
  return histories
}

/** The ids of the sessions of histories: the original ones, unless others are requested. */
export function historyNames(
  histories: readonly CheckedHistory[],
  { input, options }: HistoryImport,
): string[] {
  const named = histories.map(({ session }) => ({ id: session?.id }))
  return sessionNames(named, input.name, options)
}

/** An entry of the report. */
export function historyOutcome(
  name: string,
  history: CheckedHistory,
  done: Done,
  nth: number,
): ImportedConversation {
  const { problem, counts } = history
  const checked = {
    branchOf: undefined,
    messages: counts.messages,
    problemCount: problem === undefined ? 0 : 1,
    noteCount: 0,
    problems: problem === undefined || nth >= TOLD ? [] : [problem],
    notes: [],
  }
  return outcomeOf(name, checked, done)
}

/** Why a checked history is not restored. Histories are never restored in part: `skipBad` leaves out the whole history. */
export function historyRefused({ problem, counts }: CheckedHistory): string | undefined {
  return refused({ messages: counts.messages, problemCount: problem === undefined ? 0 : 1 }, false)
}

/** Restores the valid histories of a file, one after the other. */
export async function restoreHistories(
  histories: readonly CheckedHistory[],
  names: readonly string[],
  importing: HistoryImport,
): Promise<ImportedConversation[]> {
  const { path, input, options, onMessages } = importing
  const lines = new LineCursor(readLines(input.bytes()))
  const done: ImportedConversation[] = []
  let messages = 0
  try {
    for (const [i, history] of histories.entries()) {
      const why = historyRefused(history)
      const outcome: Done =
        why === undefined
          ? await restoreOrFind(names[i]!, history, lines, importing)
          : { status: 'refused', why }
      for await (const _ of lines.until(history.lastLine)); // the rest after a rejection
      done.push(historyOutcome(names[i]!, history, outcome, i))
      messages += history.counts.messages
      onMessages(messages)
    }
    return done
  } catch (error) {
    throw withCount(error, path, options.signal, done)
  } finally {
    await lines.close()
  }
}

async function restoreOrFind(
  id: string,
  history: CheckedHistory,
  lines: LineCursor,
  importing: HistoryImport,
): Promise<Done> {
  const { store, input } = importing
  const wasThere = await isThere(store, id)
  const done = await restore(id, lines.until(history.lastLine), importing)
  if (done.status !== 'refused' || done.code !== 'SESSION_EXISTS') return done
  // Another process created it meanwhile; perhaps from the same history.
  const found = wasThere ? done : await restore(id, linesOf(input, history), importing)
  return 'code' in found && found.code === 'SESSION_EXISTS' ? { ...found, why: historyTaken(id) } : found
}

async function isThere(store: ImportStore, id: string): Promise<boolean> {
  try {
    await store.getSession(id)
    return true
  } catch (error) {
    if (isUndertextError(error, 'SESSION_NOT_FOUND')) return false
    throw error
  }
}

/** The lines of one history, read again. */
async function* linesOf(
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
  lines: AsyncIterable<Line>,
  { store, path, options }: HistoryImport,
): Promise<Done> {
  const { owner, signal } = options
  try {
    for await (const answer of restoreFrom(store, lines, {
      ids: [id],
      ...(owner !== undefined && { owner }),
      ...(signal !== undefined && { signal }),
    })) {
      if ('restored' in answer) return doneOf(answer.restored)
      const { why, code } = answer.refused
      return { status: 'refused', why, code }
    }
    throw new UndertextError('FILE_CHANGED', { file: path, imported: 0 })
  } catch (error) {
    if (!isUndertextError(error, 'INVALID_INPUT')) throw error
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

/** The lines of a file, read in parts. */
class LineCursor {
  readonly #lines: AsyncGenerator<Line, void, undefined>
  #number = 0

  constructor(lines: AsyncGenerator<Line, void, undefined>) {
    this.#lines = lines
  }

  /** Yields the remaining lines up to a given one; the others stay for the next caller. */
  async *until(last: number): AsyncGenerator<Line, void, undefined> {
    while (this.#number < last) {
      const { done, value } = await this.#lines.next()
      if (done === true) return
      this.#number = value.number
      yield value
    }
  }

  async close(): Promise<void> {
    await this.#lines.return()
  }
}

/**
 * A function that says which positions of the log a compaction hides in the end, through all summaries beneath it. `compactions` are those
 * of a session.
 */
export function standsFor(
  compactions: readonly Compaction[],
): (compaction: Compaction) => readonly PositionRange[] {
  const byOrdinal = new Map(compactions.map((one) => [one.coverage.inserted?.ordinal, one]))
  const known = new Map<string, readonly PositionRange[]>()
  const positionsOf = ({ id, coverage: { hidden } }: Compaction): readonly PositionRange[] => {
    const found = known.get(id)
    if (found !== undefined) return found
    // Coverage that goes in a circle, as only damage makes it, ends here.
    known.set(id, [])
    const beneath = hidden.inserted.flatMap(({ ordinal }) => {
      const inner = byOrdinal.get(ordinal)
      return inner === undefined ? [] : positionsOf(inner)
    })
    const positions = mergeRanges([...hidden.positions, ...beneath])
    known.set(id, positions)
    return positions
  }
  return positionsOf
}

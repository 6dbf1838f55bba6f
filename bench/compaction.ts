import Database from 'better-sqlite3'
import { type CompactionConfig, openStore } from 'undertext'
import { openBare } from './bare.ts'
import type { Folder } from './folder.ts'
import { median, timed } from './rounds.ts'

const SAMPLES = 20
/** Rounds before the clock counts: the figures are of a warm process. */
const WARM_UP = 10

/** Prune, then truncate, far enough that both have much to do. */
export const PRUNE_AND_TRUNCATE: CompactionConfig = {
  provider: 'anthropic',
  model: 'claude-sonnet-4-5',
  targetTokens: 100_000,
  enableDeduplicate: false,
  enableSummarize: false,
}

/** The default pipeline, with the summarizer that needs no model. */
export const DEFAULT_PIPELINE: CompactionConfig = {
  provider: 'anthropic',
  model: 'claude-sonnet-4-5',
  targetTokens: 100_000,
}

export type CompactionFigures = {
  /** Milliseconds of `compactSession`, from the call to its result. */
  readonly total: number
  /** Of it, until the transaction of the commit begins: reading the index of the view and planning. */
  readonly planning: number
  /** What it did, for the reader: rows hidden and parts replaced. */
  readonly rows: number
  readonly parts: number
}

/**
 * Compactions of session `s`: each sample on a fresh copy of the file, opened anew, durable, in a warm process.
 */
export async function compactionTime(
  folder: Folder,
  name: string,
  config: CompactionConfig,
): Promise<CompactionFigures> {
  const totals: number[] = []
  const plannings: number[] = []
  let [rows, parts] = [0, 0]
  for (let sample = -WARM_UP; sample < SAMPLES; sample++) {
    const database = openBare(folder.copy(name, 'compaction.db'), 'full')
    const commitBegan = watchBegin(database)
    const store = await openStore(database)
    await store.getContextStats('s')
    const start = performance.now()
    const result = await store.compactSession('s', config)
    const total = performance.now() - start
    if (sample >= 0) {
      totals.push(total)
      plannings.push(commitBegan() - start)
    }
    rows = result!.compactions.reduce((sum, { rowsHidden }) => sum + rowsHidden, 0)
    parts = result!.compactions.reduce((sum, { partsReplaced }) => sum + partsReplaced, 0)
    await store.close()
    database.close()
  }
  return { total: median(totals), planning: median(plannings), rows, parts }
}

/** Notes when a connection last took the write lock. */
function watchBegin(database: Database.Database): () => number {
  let began = 0
  const prepare = database.prepare.bind(database)
  database.prepare = ((sql: string) => {
    const statement = prepare(sql)
    if (sql !== 'begin immediate') return statement
    const run = statement.run.bind(statement)
    statement.run = () => {
      began = performance.now()
      return run()
    }
    return statement
  }) as typeof database.prepare
  return () => began
}

export type UndoFigures = {
  /** Milliseconds of undo and redo, and of the bare UPDATE that clears and sets the same tags. */
  readonly undo: number
  readonly redo: number
  readonly bareClear: number
  readonly bareSet: number
}

/** Undo and redo of a compaction that hid rows, against the bare UPDATE of the same rows, commit included. */
export async function undoHidden(folder: Folder, name: string): Promise<UndoFigures> {
  const store = await openStore(folder.copy(name, 'undo-ours.db'), { durability: 'full' })
  const truncated = await store.compactSession('s', {
    ...PRUNE_AND_TRUNCATE,
    enablePrune: false,
    targetTokens: 1_000,
  })
  const { id, rowsHidden } = truncated!.compactions.find(({ rowsHidden }) => rowsHidden > 0)!
  await store.close()
  folder.copy('undo-ours.db', 'undo-bare.db')
  const bare = openBare(folder.file('undo-bare.db'), 'full')
  const no = (bare.prepare('select max(no) as no from undertext_compactions').get() as { no: number }).no
  const bounds = bare
    .prepare('select min(position), max(position) from undertext_messages where truncation_parent = ?')
    .raw()
    .get(no) as [number, number]
  const clear = bare.prepare(
    'update undertext_messages set truncation_parent = null where session = 1 and position between ? and ? and truncation_parent = ?',
  )
  const set = bare.prepare(
    'update undertext_messages set truncation_parent = ? where session = 1 and position between ? and ? and truncation_parent is null',
  )
  const figures = await rounds(folder, id, bare, [
    () => clear.run(...bounds, no).changes === rowsHidden,
    () => set.run(no, ...bounds).changes >= rowsHidden,
  ])
  bare.close()
  return figures
}

/**
 * The same for a compaction that replaced parts, while another one in force replaces every one of them too:
 * against the bare UPDATE of what the same rows show.
 */
export async function undoOverlapping(folder: Folder, name: string): Promise<UndoFigures> {
  const store = await openStore(folder.copy(name, 'undo-ours.db'), { durability: 'full' })
  const config = {
    ...PRUNE_AND_TRUNCATE,
    enableTruncate: false,
    pruneMinimumSavings: 0,
    pruneProtectTokens: 0,
    targetTokens: 0,
  }
  const first = await store.compactSession('s', config)
  await store.undoCompaction('s', first!.runId)
  const second = await store.compactSession('s', { ...config, prunePlaceholder: '[gone]' })
  await store.redoCompaction('s', first!.runId)
  const { id } = second!.compactions[0]!
  await store.close()
  folder.copy('undo-ours.db', 'undo-bare.db')
  const bare = openBare(folder.file('undo-bare.db'), 'full')
  const no = (bare.prepare('select max(no) as no from undertext_compactions').get() as { no: number }).no
  const clear = bare.prepare(
    `update undertext_messages set shown = null, size_results = size_results + 500
     where key in (select message from undertext_replacements where compaction = ?)`,
  )
  const set = bare.prepare(
    `update undertext_messages set shown = '[[0,2]]', size_results = size_results - 500
     where key in (select message from undertext_replacements where compaction = ?)`,
  )
  const figures = await rounds(folder, id, bare, [
    () => clear.run(no).changes > 0,
    () => set.run(no).changes > 0,
  ])
  bare.close()
  return figures
}

async function rounds(
  folder: Folder,
  id: string,
  bare: Database.Database,
  [clear, set]: readonly [() => boolean, () => boolean],
): Promise<UndoFigures> {
  const ours = new Database(folder.file('undo-ours.db'))
  ours.pragma('synchronous = full')
  const store = await openStore(ours)
  const [begin, commit] = [bare.prepare('begin immediate'), bare.prepare('commit')]
  const transaction = (work: () => boolean): void => {
    begin.run()
    if (!work()) throw new Error('the bare update did not change what it should')
    commit.run()
  }
  const times: Record<keyof UndoFigures, number[]> = { undo: [], redo: [], bareClear: [], bareSet: [] }
  for (let sample = -WARM_UP; sample < SAMPLES; sample++) {
    const one: [keyof UndoFigures, () => unknown][] = [
      ['undo', () => store.undoCompaction('s', id)],
      ['bareClear', () => transaction(clear)],
      ['redo', () => store.redoCompaction('s', id)],
      ['bareSet', () => transaction(set)],
    ]
    for (const [what, work] of one) {
      // The log of the write before is brought in first, so that nobody pays for another's.
      ours.pragma('wal_checkpoint(truncate)')
      bare.pragma('wal_checkpoint(truncate)')
      const time = await timed(work)
      if (sample >= 0) times[what].push(time)
    }
  }
  await store.close()
  ours.close()
  return {
    undo: median(times.undo),
    redo: median(times.redo),
    bareClear: median(times.bareClear),
    bareSet: median(times.bareSet),
  }
}
